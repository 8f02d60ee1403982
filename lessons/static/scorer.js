// What a search finds, in order (Sphinx reads this object). A term of the glossary finds the
// glossary first, and then the lesson that teaches it.

const asked = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();
const lesson = TAUGHT.get(asked) ?? TAUGHT.get(asked.replace(/s$/, ""));

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score([page, , , , score]) {
    if (lesson === undefined) return score;
    return score + (page === "glossary" ? 2000 : page === lesson ? 1000 : 0);
  },
};

// Sphinx asks for the page of each result, to show an excerpt. Its text comes from a script instead
// (texts/PAGE.js): a page that was opened from a disk may run the files beside it, and not read them.
const texts = new Map();
const arrived = new Map();
globalThis.minigradText = (page, text) => arrived.get(page)(text);

function textOf(page, root) {
  const found = new Promise((resolve) => {
    arrived.set(page, resolve);
    const script = document.createElement("script");
    script.src = `${root}texts/${page}.js`;
    script.onerror = () => resolve(""); // no excerpt then
    document.head.append(script);
  });
  texts.set(page, found);
  return found;
}

window.fetch = async (address) => {
  const root = document.documentElement.dataset.content_root ?? "./",
    page = address.slice(root.length).replace(/\.html$/, "");
  return { text: () => texts.get(page) ?? textOf(page, root) };
};
