// Explain mode: every step up to now, its sentence and its formula; a click goes back to it.

import { h, onceDrawn } from "../dom.js";
import { columnOf } from "../fold.js";
import { equation, namesOf } from "../formulas.js";
import { sentence } from "../speech.js";

const MOST_TOLD = 200; // steps listed: those before the present one

export const storyView = {
  name: "story",
  title: { en: "Every step so far", zh: "至今的每一步" },
  ready: (trace) => trace.steps.length > 0,
  make({ trace, t, move }) {
    const list = h("ol", { class: "mg-story" }),
      made = new Map(),
      names = namesOf(trace);
    function entry(i) {
      if (made.has(i)) return made.get(i);
      const step = trace.steps[i],
        go = { class: "mg-told", onclick: () => move(i + 1) };
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
    const entries = (first, last) =>
      Array.from({ length: last - first }, (_, i) => entry(first + i));
    const toTheEnd = () => list.parentNode.scrollTo(0, list.offsetHeight);
    let from = 0,
      to = 0, // the steps from `from` to before `to` are in the list
      current = null;
    return {
      box: list,
      update(k) {
        const first = Math.max(0, k - MOST_TOLD);
        for (let i = from; i < to; i++) if (i < first || i >= k) entry(i).remove();
        const kept = from < k && to > first,
          begin = kept ? Math.max(from, first) : k,
          end = kept ? Math.min(to, k) : k;
        list.prepend(...entries(first, begin));
        list.append(...entries(end, k));
        [from, to] = [first, k];
        current?.removeAttribute("aria-current");
        current = list.lastElementChild;
        current?.setAttribute("aria-current", "step");
        onceDrawn(toTheEnd);
      },
    };
  },
};
