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
