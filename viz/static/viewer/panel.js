// What happens in this step: formula, arithmetic, sentence.

import { h, setText } from "./dom.js";
import { arithmetic, equation, math } from "./formulas.js";
import { namesOf, sentence } from "./speech.js";

export function drawPanel(trace, t, stateAt) {
  const { steps } = trace, n = steps.length;
  const badge = h("span", { class: "mg-badge" }), formula = h("div", { class: "mg-formula" }), sums = h("div", { class: "mg-sums" });
  const say = h("p", { class: "mg-say", role: "status", "aria-live": "polite" });
  const box = h("div", { class: "mg-now" }, h("div", { class: "mg-equation" }, badge, formula, sums), say);
  let measuredAt = 0;
  const names = namesOf(trace);

  // Everything but the sentence, which is announced when it changes; that is returned.
  function fill(k, state) {
    const step = k > 0 ? steps[k - 1] : null;
    badge.textContent = step ? t(step.phase) : "";
    formula.replaceChildren(...(step ? equation(step.formula ?? []) : []));
    sums.replaceChildren(...(step ? arithmetic(step, state).map((tokens) => h("span", { class: "mg-sum" }, math(tokens))) : []));
    return step ? sentence(step, t, names) : n ? t("ready", { n }) : t("empty");
  }
  const length = (step) => JSON.stringify(step.formula ?? []).length + 3 * String(step.say ?? "").length;
  const byLength = steps.map((step, i) => [length(step), i + 1]).sort((a, b) => b[0] - a[0]);
  const longest = byLength.slice(0, 24).map(([, k]) => k);

  return {
    box, say,
    update(k, state) {
      setText(say, fill(k, state));
      if (formula.scrollWidth > formula.clientWidth) formula.setAttribute("tabindex", "0"); // what scrolls must be reachable by keys
      else formula.removeAttribute("tabindex");
    },
    // The panel gets the height of the tallest step (of the longest two dozen) at this width, so that what is below never moves.
    reserve(root, k) {
      if (root.clientWidth === measuredAt) return;
      measuredAt = root.clientWidth;
      const now = root.dataset.now, spoken = say.textContent;
      let tallest = 0;
      box.style.minHeight = "";
      root.dataset.now = "v";
      for (const one of longest) {
        say.textContent = fill(one, stateAt(one));
        tallest = Math.max(tallest, Math.ceil(box.getBoundingClientRect().height));
      }
      root.dataset.now = now;
      box.style.minHeight = `${tallest}px`;
      fill(k, stateAt(k));
      say.textContent = spoken;
    },
  };
}
