// Explain mode: every step up to now, its sentence and its formula; a click goes back to it.

import { h } from "../dom.js";
import { columnOf } from "../fold.js";
import { equation } from "../formulas.js";
import { namesOf, sentence } from "../speech.js";
import { inLanguage } from "../texts.js";

const MOST_TOLD = 200; // steps listed: those before the present one

export const storyView = {
  name: "story",
  title: { en: "Every step so far", zh: "至今的每一步" },
  ready: (trace) => trace.steps.length > 0,
  make({ trace, t, move }) {
    const list = h("ol", { class: "mg-story" }),
      box = h(
        "div",
        {
          class: "mg-scroll mg-storybox",
          tabindex: "0",
          role: "group",
          "aria-label": inLanguage(storyView.title, t),
        },
        list,
      );
    const made = new Map(),
      names = namesOf(trace);
    function entry(i) {
      if (made.has(i)) return made.get(i);
      const step = trace.steps[i],
        go = { type: "button", class: "mg-told", onclick: () => move(i + 1) };
      const item = h(
        "li",
        { value: i + 1, class: `mg-c-${columnOf(step)}` },
        h(
          "button",
          go,
          h("span", { class: "mg-saying" }, sentence(step, t, names)),
          h("span", { class: "mg-formula" }, equation(step.formula ?? [])),
        ),
      );
      made.set(i, item);
      return item;
    }
    return {
      box,
      update(k) {
        const first = Math.max(0, k - MOST_TOLD),
          items = Array.from({ length: k - first }, (_, i) => entry(first + i));
        list.replaceChildren(...items);
        for (const item of items) item.removeAttribute("aria-current");
        items.at(-1)?.setAttribute("aria-current", "step");
        box.scrollTop = box.scrollHeight;
      },
    };
  },
};
