// Frames with the page in which a function can be typed, on the first page and below pictures: each
// says how tall it is.
const live = new Map(); // by window
for (const frame of document.querySelectorAll(".course-live, .minigrad-live"))
  live.set(frame.contentWindow, frame);
// One below a picture is asked for when it is opened first.
document.addEventListener(
  "toggle",
  ({ target }) => {
    const frame = target.open && target.querySelector?.(".minigrad-live[data-src]:not([src])");
    if (frame) frame.src = frame.dataset.src;
  },
  true, // the event does not bubble
);
const tellLive = (frame) => {
  frame.style.colorScheme = theme(); // as inside, or the browser paints its margin white
  frame.contentWindow.postMessage({ minigrad: "theme", theme: theme() }, "*");
};
window.addEventListener("message", ({ source, data }) => {
  const frame = live.get(source);
  if (!frame || data?.minigrad !== "height") return;
  if (Number.isFinite(data.height)) frame.style.height = `${Math.min(data.height, 20000)}px`;
  if (frame.dataset.alive) return;
  frame.dataset.alive = "true";
  tellLive(frame);
});

// The reader's choice of light or dark, told to the pictures by the attributes
// that JupyterLab sets.
const dark = matchMedia("(prefers-color-scheme: dark)");
function theme() {
  const chosen = document.body.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return dark.matches ? "dark" : "light";
}
const tell = () => {
  document.body.dataset.jpThemeLight = String(theme() === "light");
  for (const frame of live.values()) tellLive(frame);
};
const attributeFilter = ["data-theme"];
new MutationObserver(tell).observe(document.body, { attributes: true, attributeFilter });
dark.addEventListener("change", tell);
tell();

// What the theme does not tell to screen readers: how deep a caption of the lessons' list stands, and
// what the second list is for.
for (const caption of document.querySelectorAll(".caption[role=heading]"))
  caption.setAttribute("aria-level", "2");
document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");

// On a phone a wide figure is scrolled sideways (course.css), with the keyboard too.
const narrow = matchMedia("(max-width: 46em)");
function reachFigures() {
  for (const figure of document.querySelectorAll('section > p:has(> img[src$=".svg"])'))
    if (narrow.matches) figure.tabIndex = 0;
    else figure.removeAttribute("tabindex");
}
narrow.addEventListener("change", reachFigures);
reachFigures();

// What was printed in columns: three lines or more with a gap between two words, and none so long
// that it is a sentence, which is to be broken. Such a table can be scrolled with the keyboard too.
// A sentence between its rows is broken where the page ends.
for (const pre of document.querySelectorAll(".cell_output pre")) {
  const lines = pre.textContent.split("\n").filter((line) => /\S {2,}\S/.test(line));
  if (lines.length < 3 || lines.some((line) => line.length > 95)) continue;
  pre.parentElement.classList.add("course-columns");
  pre.tabIndex = 0;
  if (pre.querySelector("[class]")) continue; // colours of a terminal
  const widest = Math.max(...lines.map((line) => line.length));
  pre.replaceChildren(
    ...pre.textContent.split(/(?<=\n)/).map((line) => {
      if (line.trimEnd().length <= widest) return line;
      const sentence = document.createElement("span");
      sentence.className = "course-sentence";
      sentence.textContent = line.trimEnd();
      return sentence;
    }),
  );
}
