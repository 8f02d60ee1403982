// The further views. nameView is in views/name.js: {name, title, ready(trace), asked?(trace),
// beside?, width?, make(host)}. `title` is what readers see, in each language; `ready` says whether
// a Trace has what the view needs, `asked` whether it opens by itself, `beside` whether it stands
// beside the controls and not in the table's place, `width` the least of its column beside a graph,
// in pixels. `make` gives {box, aside?, update(k, step, state, asked), reserve?(), fit?(stage,
// by)}: aside stands below the title; update is called at every move of the clock; asked: the next
// step, where the stage asks for what it writes; reserve before the parts are arranged at a width;
// fit once they are laid out; by: the reader wants letters so many times as large.

import { algorithmView } from "./views/algorithm.js";
import { arraysView } from "./views/arrays.js";
import { buffersView } from "./views/buffers.js";
import { cutView } from "./views/cut.js";
import { elementView } from "./views/element.js";
import { jacobianView } from "./views/jacobian.js";
import { memoryView } from "./views/memory.js";
import { ordersView } from "./views/orders.js";
import { predictView } from "./views/predict.js";
import { storyView } from "./views/story.js";
import { h, iconButton, motion } from "./dom.js";
import { inLanguage } from "./texts.js";

export const VIEWS = [
  predictView,
  storyView,
  algorithmView,
  ordersView,
  jacobianView,
  cutView,
  memoryView,
  buffersView,
  arraysView,
  elementView,
];

const VIEW_WIDTH = 320;

// The views, which stand in the table's place: opened and closed by the reader, all on the one
// clock. wanted: names of views that are open at first; before: of those that the reader had open,
// in place of all others.
// Long: a closure, whose functions share these elements and the state.
export function viewShelf(host, wanted = [], before = null) {
  const { trace, t } = host,
    ready = VIEWS.filter((view) => view.ready(trace)),
    open = new Map();
  const lacks = wanted.filter((name) => !before && ready.every((view) => view.name !== name)),
    say = (name) => h("p", { class: "mg-sumup" }, t("viewLacks", { name }));
  const box = h("div", { class: "mg-scroll mg-views" }),
    beside = h("div", { class: "mg-beside-controls" }, lacks.map(say));
  const changed = [];
  function set(view, on) {
    if (on === open.has(view.name)) return;
    if (on) {
      const made = view.make(host),
        name = inLanguage(view.title, t),
        inside = { class: "mg-scroll mg-inside", tabindex: "0", role: "group", "aria-label": name },
        close = iconButton("shut", t, () => {
          set(view, false);
          host.focus();
        });
      close.setAttribute("aria-label", t("closeView", { name }));
      const caption = h(
        "figcaption",
        null,
        h("span", null, name),
        h("span", { class: "mg-shut" }, close),
        made.aside,
      );
      const figure = h(
        "figure",
        { class: `mg-box mg-panel mg-view-${view.name}`, "data-view": view.name },
        caption,
        h("div", inside, made.box),
      );
      open.set(view.name, { ...made, figure, width: view.beside ? 0 : (view.width ?? VIEW_WIDTH) });
      const here = ready.filter((one) => open.has(one.name) && !one.beside === !view.beside);
      // always in the same order
      (view.beside ? beside : box).append(...here.map((one) => open.get(one.name).figure));
      host.redraw();
    } else {
      open.get(view.name).figure.remove();
      open.get(view.name).destroy?.();
      open.delete(view.name);
      host.redraw();
    }
    changed.forEach((tell) => tell(view.name, on));
  }
  return {
    box,
    beside,
    // the least that those need which stand in the table's place; 0: there is none
    width: () => Math.max(0, ...[...open.values()].map((one) => one.width)),
    ready,
    names: () => [...open.keys()],
    set: (name, on) => ready.filter((view) => view.name === name).forEach((view) => set(view, on)),
    onChange: (tell) => changed.push(tell),
    // What the reader has just opened may be below the window.
    bring: (name) =>
      open.get(name).figure.scrollIntoView({ block: "nearest", behavior: motion(true) }),
    begin: () =>
      ready
        .filter(
          (view) =>
            before?.includes(view.name) ?? (wanted.includes(view.name) || view.asked?.(trace)),
        )
        .forEach((view) => set(view, true)),
    update: (...now) => open.forEach((one) => one.update(...now)),
    asks: () => open.get("predict")?.asks(),
    next: () => open.get("predict")?.next(),
    reserve: () => open.forEach((one) => one.reserve?.()),
    fit: (...how) => open.forEach((one) => one.fit?.(...how)),
  };
}
