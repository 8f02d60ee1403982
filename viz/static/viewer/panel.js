// What happens in this step: formula, arithmetic, sentence.

import { isPhone, windowOf } from "./arrange.js";
import { rangeIn } from "./arrays.js";
import { h, unbroken } from "./dom.js";
import { drawCurve } from "./curve.js";
import { explained } from "./explained.js";
import { columnOf, key } from "./fold.js";
import { columnName, equation, labelOf, namesOf } from "./formulas.js";
import { brief } from "./summaries.js";
import { passText, phaseOf, sentence } from "./speech.js";
import { ofArray } from "./views/array_questions.js";
import { formulaBeside, workings } from "./workings.js";

const RESERVED = 0.175, // of the window's height, at most, less a part of what a question takes
  ON_PHONE = 0.23,
  WHOLE = 1.35, // times that, where no step scrolls then
  LOWEST_STEP = 86, // pixels, also in a low window: a formula and two lines of its sentence
  SMALLER = [1, 0.87, 0.75], // sizes of the formulas, where the longest step needs more
  MEASURED = 6, // steps with the longest formulas and sentences
  // On the stage: the share of the screen's height that a step takes, where its letters need not be
  // smaller than a share of their size for it.
  STAGE_SHARE = 0.18,
  LEAST_FIT = 0.64,
  MOST_RESULTS = 12; // after the last step on the stage

// Puts a sentence in an element; it is read aloud where it changes.
const tell = (element, text) =>
  element.textContent === text || element.replaceChildren(...unbroken(text));

// What scrolls must be reachable by keys. What has the focus keeps it, and so the keys.
function reachable(element, scrolls) {
  if (!scrolls && !element.matches(":focus")) element.removeAttribute("tabindex");
  else if (!element.hasAttribute("tabindex")) element.setAttribute("tabindex", "0");
}

// Long: a closure, whose functions share these elements and the state.
export function drawPanel(trace, t, stateAt, inputs, host) {
  const { steps } = trace,
    n = steps.length;
  const curve = drawCurve(trace, t, inputs),
    shown = drawParts({ role: "status", "aria-live": "polite" });
  const { box, badge, formula, sums, say } = shown;
  // What the functions in the formula do, over what is below: the step's sentence stays in sight.
  const meaning = h("p", { class: "mg-meaning", role: "status", hidden: true });
  // Returns whether that stood there.
  function explain(on) {
    const before = !meaning.hidden;
    meaning.hidden = !on;
    meaning.textContent = on ? formula.title : "";
    shown.means.setAttribute("aria-expanded", on);
    return before;
  }
  explain(false);
  shown.means.addEventListener("blur", () => explain(false));
  let measuredAt = "",
    scale = 1; // of the formulas, but on the stage
  // that there is more below is seen
  const fade = () =>
    box.classList.toggle("mg-more", box.scrollTop + box.clientHeight < box.scrollHeight - 3);
  box.addEventListener("scroll", fade);
  const names = namesOf(trace),
    ready = window.matchMedia("(pointer: coarse)").matches ? "readyTouch" : "ready";

  // The parts of a box for one step. spoken: attributes of its sentence.
  function drawParts(spoken) {
    const badge = h("span", { class: "mg-badge" }),
      formula = h("div", { class: "mg-formula" }),
      sums = h("div", { class: "mg-sums" }),
      about = { class: "mg-fold mg-means", "aria-label": t("meaning"), title: t("meaning") },
      means = h("button", { ...about, onclick: () => explain(meaning.hidden) }, "?");
    const pass = h("span", { class: "mg-pass" }),
      opening = h("p", { class: "mg-opening" }), // on the stage, before the first step
      say = h("p", { class: "mg-say", ...spoken });
    const box = h(
      "div",
      { class: curve ? "mg-now mg-curved" : "mg-now" },
      spoken ? curve?.box : curve && h("i", { class: "mg-curve" }), // its place
      opening,
      h("div", { class: "mg-equation" }, badge, formula, sums, means),
      trace.passes?.length > 0 && pass,
      say,
    );
    return { box, badge, formula, sums, means, pass, opening, say };
  }
  // What the steps find, of what is named first: the outputs' values and tangents, the inputs'
  // adjoints. As many as the stage has space for, or before the first step one of each kind.
  function found(state, k) {
    const all = [
      [["output"], "v"],
      [["output"], "d", "dot"],
      [["input", "param"], "g", "bar"],
    ].flatMap(([kinds, column, accent]) =>
      trace.nodes
        .filter((node) => kinds.includes(node.kind) && state.has(key(node.id, column)))
        .map((node) =>
          held(
            { t: "sym", ...labelOf(node), accent, node: node.id },
            state.get(key(node.id, column)),
          ),
        ),
    );
    const further = all.splice(k ? MOST_RESULTS : 1 + trace.columns.length).length;
    return further ? [...all, t("further", { n: further })] : all;
  }
  function held(name, value) {
    const text = brief(value, t, 24),
      range = rangeIn(text, value, t);
    return range
      ? [equation([name]), range]
      : equation([name, { t: "op", text: "=" }, { t: "row", text }], 0);
  }
  // Everything but the sentence, which is announced when it changes; that is returned. The message
  // of an operation that fails stands above already.
  // preview: the final state, where it may be told before the first step, or once more at the end.
  function fill(parts, k, state, preview = null) {
    const { badge, formula, sums, means, pass, opening, say } = parts;
    const results = preview ? found(preview, k) : [],
      step = k > 0 && !results.length ? steps[k - 1] : null;
    const partial = step?.partial && say.closest(".mg-stage"); // elsewhere the sentence says so
    badge.textContent = step
      ? phaseOf(step, t) + (partial ? t("soFar") : "")
      : results.length
        ? t("found")
        : "";
    badge.classList.toggle("mg-needed", Boolean(step?.by));
    pass.textContent = step ? passText(trace, t, step.pass) : "";
    const worked = step ? workings(step, state, host) : results;
    formula.replaceChildren(...(step ? equation(formulaBeside(worked, step)) : []));
    formula.title = explained(step, t);
    means.hidden = !formula.title;
    const { decides, fails, nonfinite, despite } = step ?? { fails: true };
    const needed = Boolean(decides || fails || nonfinite || despite);
    say.classList.toggle("mg-needed", needed);
    // of an operation's value the formula says all
    say.classList.toggle("mg-hidden", !needed && step.phase === "primal" && step.edges.length > 0);
    opening.textContent = step ? "" : String(trace.title ?? "");
    sums.replaceChildren(
      ...worked.map((parts) =>
        h("span", { class: k ? "mg-sum" : "mg-sum mg-found" }, parts),
      ),
    );
    if (step?.fails)
      return t(step.phase === "adjoint" ? "failsBack" : "failsHere", {
        node: names(step.node),
        type: step.fails.type,
      });
    if (step) return sentence(step, t, names);
    // on the stage Space takes a step, too
    const keys = ready === "ready" && say.closest(".mg-stage") ? "readyStage" : ready;
    const odd = preview && steps.find((one) => one.nonfinite); // why the preview has a NaN
    if (odd) return t("atStep", { k: steps.indexOf(odd) + 1, say: sentence(odd, t, names) });
    return k ? "" : t(n ? keys : "empty", { n });
  }
  // On the stage a long formula is written smaller, and the sentence's lines closer together: the
  // graph needs the height. What cannot be broken is as small as the width asks for.
  function fitted({ box, formula, say }) {
    const equation = formula.parentElement,
      stage = equation.closest(".mg-stage"),
      tall = () => equation.offsetHeight + say.offsetHeight > stage.clientHeight * STAGE_SHARE;
    const set = (fit) => box.style.setProperty("--mg-fit", fit);
    let fit = stage ? 1 : scale;
    set(fit);
    if (!stage) return; // nothing is laid out elsewhere
    if (tall()) {
      fit = LEAST_FIT;
      for (let by = (1 - fit) / 2; by > 0.01; by /= 2) {
        set(fit + by);
        if (!tall()) fit += by;
      }
      set(fit);
    }
    for (const { clientWidth, scrollWidth } of [formula, equation])
      if (scrollWidth > clientWidth) set((fit *= clientWidth / scrollWidth));
  }
  const longest = () =>
    steps
      .map((step, i) => {
        const { say = "", tokens = step.formula?.length ?? 0, contribs = [] } = step;
        return [say.length + 3 * tokens + 12 * contribs.length, i + 1];
      })
      .sort((a, b) => b[0] - a[0])
      .slice(0, MEASURED)
      .map(([, k]) => k);

  return {
    box,
    meaning,
    close: () => explain(false),
    say,
    renew: () => curve?.renew(),
    // What comes next, before its answer: the left side of its formula.
    ask(step) {
      const { formula: tokens = [] } = step,
        sign = tokens.find((token) => token.text === "=" || token.text === "+="),
        asks = sign?.text === "+=" ? "stageAdd" : "stageAsk",
        shapeOf = (id) => names.byId.get(id).shape ?? [],
        question = { left: [tokens[0], sign], words: asks, node: names(step.node) },
        { left, words, node } = ofArray(question, step, steps.indexOf(step), shapeOf, t);
      badge.textContent = phaseOf(step, t);
      formula.replaceChildren(...equation([...left, { t: "text", text: "?" }]));
      sums.replaceChildren();
      shown.means.hidden = true;
      explain(false);
      curve?.update(null);
      const column = columnName({ key: columnOf(step) }, t),
        soFar = step.partial ? t("soFar") : "";
      tell(say, t(words, { column, node, soFar }));
      say.className = "mg-say mg-needed";
      fitted(shown);
    },
    update(k, state, preview) {
      const before = formula.title;
      tell(say, fill(shown, k, state, preview));
      if (formula.title !== before) explain(false);
      fitted(shown);
      curve?.update(steps[k - 1], state);
    },
    // Once it is laid out.
    reach() {
      box.scrollTop = 0;
      reachable(formula, formula.scrollWidth > formula.clientWidth);
      reachable(box, box.style.maxHeight && box.scrollHeight > box.clientHeight);
      fade();
    },
    // The panel gets the height of the tallest step (of those with the longest sentences and
    // formulas) at this width, so that what is below never moves. Where that is more than a share
    // of the window, all formulas are written smaller, with the lines of the sentences closer
    // together, and what is still too high scrolls: on a phone only what is far too high. All are
    // laid out together, beside the viewer, in a copy of its outermost element.
    reserve(root) {
      const stage = root.classList.contains("mg-stage"),
        asking = root.querySelector(".mg-beside-controls").offsetHeight,
        share = isPhone(root) ? ON_PHONE : RESERVED,
        most = stage ? Infinity : Math.max(LOWEST_STEP, share * windowOf(root) - asking / 4),
        place = `${root.clientWidth} ${stage && root.clientHeight} ${most}`;
      if (place === measuredAt) return;
      measuredAt = place;
      const copies = longest().map((k) => {
        const copy = drawParts();
        tell(copy.say, fill(copy, k, stateAt(k)));
        return copy;
      });
      const dressed = { class: `${root.className} mg-beside`, "data-now": "v" },
        beside = h("div", dressed, copies.map((copy) => copy.box));
      beside.style.width = `${root.offsetWidth}px`;
      root.after(beside);
      let tallest = 0;
      for (scale of SMALLER) {
        copies.forEach(fitted);
        const heights = copies.map((copy) => Math.ceil(copy.box.getBoundingClientRect().height));
        tallest = Math.max(0, ...heights);
        if (tallest <= most) break;
      }
      beside.remove();
      const enough = share === ON_PHONE ? WHOLE * most : most,
        height = `${tallest > enough ? most : tallest}px`;
      Object.assign(box.style, { minHeight: height, maxHeight: stage ? "" : height });
      fitted(shown);
    },
  };
}
