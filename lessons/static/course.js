// The frame of the first page, in which a function can be typed: it says how tall it is.
const live = document.querySelector("iframe.course-live");
const tellLive = (theme) => {
  if (!live) return;
  live.style.colorScheme = theme; // as inside, or the browser paints its margin white
  live.contentWindow.postMessage({ minigrad: "theme", theme }, "*");
};
window.addEventListener("message", ({ source, data }) => {
  if (!live || source !== live.contentWindow || data?.minigrad !== "height") return;
  if (Number.isFinite(data.height)) live.style.height = `${Math.min(data.height, 20000)}px`;
  if (live.dataset.alive) return;
  live.dataset.alive = "true";
  tell();
});

// The reader's choice of light or dark, told to the pictures by the attributes
// that JupyterLab sets.
const dark = matchMedia("(prefers-color-scheme: dark)");
const tell = () => {
  const { theme } = document.body.dataset;
  const light = theme === "light" || (theme !== "dark" && !dark.matches);
  document.body.dataset.jpThemeLight = String(light);
  tellLive(light ? "light" : "dark");
};
const attributeFilter = ["data-theme"];
new MutationObserver(tell).observe(document.body, { attributes: true, attributeFilter });
dark.addEventListener("change", tell);
tell();

// What was printed in columns: three lines or more with a gap between two words. Such a table can be
// scrolled with the keyboard too.
for (const pre of document.querySelectorAll(".cell_output pre")) {
  const lines = pre.textContent.split("\n").filter((line) => /\S {2,}\S/.test(line));
  if (lines.length < 3) continue;
  pre.parentElement.classList.add("course-columns");
  pre.tabIndex = 0;
}
