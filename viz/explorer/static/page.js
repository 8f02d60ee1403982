// The page that differentiates: what is typed becomes a Trace, and the viewer shows it.

import { h } from "../../static/viewer/dom.js";
import { keepHash } from "../../static/viewer/hash.js";
import { listenFirstKey } from "../../static/viewer/keys.js";
import { mountTrace } from "../../static/viewer/viewer.js";
import { byName, fromAddress, toAddress } from "./address.js";
import { corrected } from "./corrected.js";
import { compileFormula, differentiate, FormulaError, numberFrom } from "./engine.js";
import { editing, endsWithEnter } from "./editing.js";
import { EXAMPLES, exampleMenu } from "./examples.js";
import { fieldsOf } from "./fields.js";
import { grammarBox } from "./grammar.js";
import { withPlaces } from "./measure.js";
import { pasted } from "./pasted.js";
import { GRAMMAR } from "./rules.js";
import { linkTo, shareButtons } from "./sharing.js";

const WAIT = 600; // milliseconds for a new name that may become a function
const PAUSE = 400; // milliseconds without a key, after which a problem in the text is told
const MODES = {
  both: "forward and reverse",
  forward: "forward mode",
  reverse: "reverse mode",
  primal: "values only",
};
const DEFAULTS = ["2", "5", "3", "0.5", "1.5", "-1"];

const completed = ({ f, values, seeds, ...rest }) => ({
  ...structuredClone({ mode: "both", views: [], step: 0, ...rest, f }),
  values: byName(Object.entries(values)),
  seeds: seeds ? byName(Object.entries(seeds)) : null,
});

// Shows the page in an element. panels: functions (state) => {element, show(found)} for what stands
// below the viewer.
// Long: a closure, whose functions share these elements and the state.
export function explore(place, { panels = [] } = {}) {
  let state = completed(fromAddress(location.hash) ?? EXAMPLES[0]);
  let viewer = null,
    shown = null, // the compiled text of the picture
    laid = null, // its Trace
    wrong = null, // why the text cannot be read
    newest = null, // what the panels are about to show
    waiting = 0,
    telling = 0; // the timer until a problem is told
  const address = keepHash(() => toAddress(state)),
    remembered = new Map(Object.entries(state.values)); // of names that were there before, too

  const formula = h("textarea", {
    ...{ class: "mgx-formula", rows: "1", spellcheck: "false", autocomplete: "off" },
    ...{ autocapitalize: "off", "aria-label": "function", "aria-describedby": "mgx-problem" },
    title: "Enter ends a formula, Shift+Enter begins a line; Escape or Ctrl+Enter ends a program",
  });
  const problem = h("div", { class: "mgx-problem", id: "mgx-problem", role: "status" });
  const fields = fieldsOf({ changed: valueChanged, seeded });
  const mode = h(
    "select",
    { class: "mgx-select", "aria-label": "mode", onchange: () => change({ mode: mode.value }) },
    Object.entries(MODES).map(([value, text]) => h("option", { value }, text)),
  );
  const predict = h(
    "button",
    { class: "mgx-button", "aria-pressed": "false", onclick: predicting },
    "Predict",
  );
  const host = {
    ...{ change, choose, typeValue: valueChanged },
    ...{ state: () => state, viewer: () => viewer },
  };
  // on a phone what is set rarely is folded, and the first screen has nodes
  const more = h(
    "details",
    { class: "mgx-more" },
    h("summary", null, "More"),
    h("div", { class: "mgx-tools" }, mode, predict, shareButtons(host)),
  );
  const narrow = matchMedia("(max-width: 600px)"),
    fold = () => (more.open = !narrow.matches);
  narrow.addEventListener("change", fold);
  fold();
  const picture = h("div", { class: "mgx-picture" });
  const extra = panels.map((panel) => panel(host));
  const head = h(
    "section",
    { class: "mg-root mgx-head", "aria-label": "function and inputs" },
    h("h1", { class: "mgx-title" }, "Differentiate a function, step by step"),
    h("div", { class: "mgx-line" }, h("span", { class: "mgx-f" }, "f ="), formula),
    problem,
    fields.element,
    h("div", { class: "mgx-tools" }, exampleMenu(choose), more, grammarBox()),
  );
  place.replaceChildren(head, picture, ...extra.map(({ element }) => element));

  formula.addEventListener("input", typed);
  formula.addEventListener("change", () => waiting && update());
  formula.addEventListener("keydown", editing);
  // what is typed is done: the next keys are the viewer's
  head.addEventListener("keydown", (event) => {
    const { key, target, isComposing } = event,
      leaves = key === "Escape" || (key === "Enter" && (event.ctrlKey || event.metaKey)),
      plain = key === "Enter" && !leaves && !event.shiftKey,
      done = plain && target === formula && endsWithEnter(formula.value);
    if (isComposing) return;
    if (done) {
      event.preventDefault();
      update();
    }
    if (leaves || (done && !wrong)) target.blur();
  });
  // what cannot be read is told here: the stage would show what was there before, and not say so
  for (const kind of ["keydown", "click"])
    picture.addEventListener(
      kind,
      (event) => {
        const opens = event.key ? /^f$/i.test(event.key) : event.target.closest(".mg-btn-stage");
        if (!wrong || !opens) return;
        event.stopPropagation();
        tell(wrong);
        problem.scrollIntoView({ block: "center" });
      },
      true,
    );
  window.addEventListener("hashchange", () => {
    const found = fromAddress(location.hash);
    if (found && toAddress(found) !== toAddress(state)) open(found);
  });

  // ------------------------------------------------------------------------------------- changes

  function change(parts) {
    Object.assign(state, parts);
    update();
  }
  // What is chosen gets an entry of its own in the browser's history: Back leads to what was there.
  function choose(found) {
    address.push();
    open(found);
  }
  function open(found) {
    viewer?.destroy(); // which ends the stage of what was there
    viewer = null;
    state = completed(found);
    for (const [name, text] of Object.entries(state.values)) remembered.set(name, text);
    write();
    update();
  }
  function write() {
    formula.value = state.f;
    mode.value = state.mode;
    grow();
  }
  function grow() {
    formula.rows = state.f.split("\n").length;
  }
  function valueChanged(name, text) {
    state.values[name] = text;
    remembered.set(name, text);
    update();
  }
  function seeded(name, text) {
    const { names } = shown,
      now = state.seeds ?? byName(names.map((one, i) => [one, i ? "0" : "1"]));
    change({ seeds: byName([...Object.entries(now), [name, text]]) });
  }
  // Predict mode: the reader says what a step computes before it is shown.
  function predicting() {
    const on = !state.views.includes("predict");
    viewer?.destroy();
    viewer = null;
    change({ views: on ? ["predict"] : [] });
    const first = picture.querySelector(".mg-question button, .mg-predict:not([hidden]) input");
    if (!matchMedia("(pointer: coarse)").matches) first?.focus();
  }
  function typed() {
    state.f = pasted(formula.value);
    if (state.f !== formula.value) write();
    grow();
    clearTimeout(waiting);
    if (mayBecomeFunction()) waiting = setTimeout(() => update(), WAIT);
    else update({ typing: true });
  }
  // Whether a new name at the caret begins as a function does: `lo` on the way to `log(`.
  function mayBecomeFunction() {
    const before = state.f.slice(0, formula.selectionStart),
      word = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before)?.[0];
    if (!word || remembered.has(word) || shown?.names.includes(word)) return false;
    return Object.keys(GRAMMAR.functions).some((name) => name.startsWith(word));
  }

  // ------------------------------------------------------------------------------------- results

  // typing: the text may be on the way to one that can be read.
  function update({ typing = false } = {}) {
    clearTimeout(waiting);
    clearTimeout(telling);
    waiting = 0;
    try {
      const compiled = compileFormula(state.f);
      adopt(compiled);
      const values = numbers(state.values, compiled.names, "value");
      const seeds = state.seeds && numbers(state.seeds, compiled.names, "seed");
      const options = { mode: state.mode, seeds, title: titleOf(compiled) };
      const trace = differentiate(compiled, values, options);
      wrong = null;
      problem.replaceChildren();
      formula.removeAttribute("aria-invalid");
      show(trace);
      showPanels({ compiled, values, seeds, trace, state });
    } catch (error) {
      if (!(error instanceof FormulaError)) throw error;
      wrong = error;
      formula.setAttribute("aria-invalid", "true");
      picture.classList.add("mgx-old");
      if (typing && !problem.hasChildNodes()) telling = setTimeout(() => tell(error), PAUSE);
      else tell(error);
    }
    address.changed();
  }
  // The picture is painted first; then the panels show what is newest.
  function showPanels(found) {
    const pending = newest !== null;
    newest = found;
    if (pending) return;
    requestAnimationFrame(() =>
      setTimeout(() => {
        extra.forEach((panel) => panel.show(newest));
        newest = null;
      }),
    );
  }
  // The inputs of a text get fields; a new name gets a value of its own.
  function adopt(compiled) {
    shown = compiled;
    const { names } = compiled;
    names.forEach((name, i) => {
      if (!remembered.has(name)) remembered.set(name, DEFAULTS[i % DEFAULTS.length]);
    });
    state.values = byName(names.map((name) => [name, remembered.get(name)]));
    if (state.seeds)
      state.seeds = byName(names.map((name) => [name, state.seeds[name] ?? "0"]));
    fields.show(names, state);
  }
  function numbers(texts, names, what) {
    return byName(names.map((name) => [name, numberFrom(name, texts[name], what)]));
  }
  function titleOf({ source, names }) {
    const point = names.map((name) => `${name} = ${state.values[name]}`).join(", "),
      text = source.replace(/:\s*\n\s*/g, ": ").replace(/\n\s*/g, "; ");
    return `${text},  ${point}`;
  }
  function show(trace) {
    predict.setAttribute("aria-pressed", String(state.views.includes("predict")));
    const renewed = viewer && withPlaces(trace, laid);
    if (viewer?.renew(renewed)) {
      laid = renewed;
      return ready();
    }
    laid = withPlaces(trace);
    const last = laid.steps.length;
    const { step, stage } = state,
      kept = viewer ? { kept: viewer.state(), step: viewer.step() } : { step, stage };
    picture.style.minHeight = `${picture.offsetHeight}px`;
    viewer?.destroy();
    viewer = mountTrace(picture, laid, {
      ...kept,
      step: Math.min(kept.step, last),
      views: state.views,
      inputs: {
        has: (name) => shown.names.includes(name),
        set: (name, value) => valueChanged(name, String(Number(value.toPrecision(3)))),
      },
      onStep: (k) => {
        state.step = k;
        address.changed();
      },
      onStage: (on) => {
        state.stage = on;
        address.changed();
      },
      link: () => linkTo(state),
    });
    state.step = viewer.step();
    picture.style.minHeight = "";
    ready();
  }
  const ready = () => picture.classList.remove("mgx-old");
  // The problem under its place, in the words of the command line; the last picture stays,
  // outlined.
  function tell({ problem: said, line, column, hint, width }) {
    const before = " ".repeat(column),
      carets = "^".repeat(Math.max(1, width));
    const better = corrected(state.f),
      own = state.f.trim().split("\n"),
      others = better.split("\n").filter((one, i) => one !== own[i]),
      offer = `Write ${others.map((one) => one.trim()).join("; ")}`;
    const mend = () => {
      state.f = better;
      write();
      update();
      formula.focus({ preventScroll: true });
    };
    problem.replaceChildren(
      h("p", { class: "mgx-said" }, said),
      h("pre", { class: "mgx-caret" }, `${line}\n${before}${carets}`),
      hint ? h("p", { class: "mgx-hint" }, hint) : "",
      others.length ? h("button", { class: "mgx-button mgx-mend", onclick: mend }, offer) : "",
    );
  }

  write();
  update();
  listenFirstKey(() => viewer ?? { root: picture }); // a text in an address may be wrong
  return { state: () => state, change, choose };
}
