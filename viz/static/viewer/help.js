// The button with the question mark, and what it opens: keys, words.

import { h, iconButton } from "./dom.js";

// Rows for keys: [names, text, there]; there: true of a key on the stage alone, false elsewhere
// alone.
export const keyRows = (keys, t) =>
  keys.map(([names, what, there]) => {
    const here = there === undefined ? {} : { class: there ? "mg-there" : "mg-elsewhere" };
    return [
      h(
        "dt",
        here,
        names.split(" ").map((name) => h("kbd", null, name)),
      ),
      h("dd", here, t(what)),
    ];
  });

// fill(list): what it shows, made when it is asked for; list(title, rows) makes a part.
export function drawHelp(t, id, fill) {
  const box = h("div", { class: "mg-help", id, hidden: true }),
    list = (title, rows) => h("div", null, h("p", null, t(title)), h("dl", null, rows)),
    button = iconButton("help", t, toggle);
  button.replaceChildren("?");
  button.setAttribute("aria-controls", id);
  button.ariaExpanded = false;
  function toggle() {
    const on = box.hidden,
      bar = button.parentElement;
    if (!box.firstChild) box.append(...fill(list));
    box.hidden = !on;
    // the bar stays where a phone's page scrolls
    if (on) scrollBy(0, Math.min(0, box.offsetTop - bar.offsetTop - bar.offsetHeight));
    button.ariaExpanded = on;
  }
  function close() {
    if (box.hidden) return false;
    toggle();
    button.focus();
    return true;
  }
  return { box, button, toggle, close };
}
