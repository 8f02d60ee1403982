// What a host may hand over: one Trace; a pair of Traces to compare; a grid of Traces behind
// sliders. Each becomes a viewer on one clock.

import { apart, marksBeside } from "./beside.js";
import { announced, h, note } from "./dom.js";
import { labelOf, math } from "./formulas.js";
import { passStage } from "./keys.js";
import { short } from "./numbers.js";
import { brief } from "./summaries.js";
import { keepKeys } from "./quiet.js";
import { translator } from "./texts.js";
import { failure, mountTrace } from "./viewer.js";

// By schema, what shows it in an element.
export const MOUNTS = { "minigrad.pair/1": mountPair, "minigrad.grid/1": mountGrid };

export const mount = (el, document_, options = {}) =>
  (MOUNTS[document_?.schema] ?? mountTrace)(el, document_, options);

// What a document is made of, as a word: views and groups that were open in one are those of
// another that is made of the same.
export function madeOf(document_) {
  const { nodes, edges, steps, columns, schema, inputs, templates } =
    document_.union ?? document_.templates?.[0]?.trace ?? document_;
  const many = [nodes, edges, steps, columns, inputs, templates].map((list) => list?.length ?? 0);
  return [schema, ...many, nodes?.at(-1)?.id].join(" ");
}

// Two Traces as one graph, on the clock of the first. Above it, and on the stage below it, the
// first difference, with both values.
function mountPair(el, { union: both, difference, names, told }, options) {
  const t = translator(options.lang),
    union = { ...both, beside: { ...both.beside, names } },
    place = h("div"),
    { bar, box, tell } = differenceBox(union, difference, names, told, t, (k) => {
      options.onStep?.(viewer.go(k));
      viewer.root.focus({ preventScroll: true }); // its keys go on from there
    }),
    root = h("section", { class: "mg-pair", "aria-label": t("pair") }, bar, place);
  if (options.theme) bar.dataset.theme = options.theme;
  el.replaceChildren(keepKeys(root));
  const { node, column, step } = difference ?? {},
    differs = { node, column, step: step ?? union.steps.length - 1, box, tell };
  tell(true); // where the viewer fails
  const viewer = mountTrace(place, union, { ...options, differs });
  return {
    ...viewer,
    root,
    theme: (name) =>
      [bar, viewer.root].forEach((e) => {
        e.dataset.theme = name;
      }),
  };
}

// bar: what stands above the graph; box: what does below it, on the stage; tell(on): whether they
// may give the difference away.
// Long: both are made of the same parts.
function differenceBox(union, difference, names, told, t, go) {
  const { node, column, step } = difference ?? {},
    known = union.nodes.find((one) => one.id === node);
  const accent = { d: "dot", g: "bar" }[column];
  // whole: with the lines of code, not the pieces alone
  function code([number, before, piece, after], whole) {
    const text = [whole && before, h("mark", null, piece), whole && after];
    return h("dd", { class: "mg-made mg-codeline" }, `${number}\u2002`, text);
  }
  const value = (name, shown, made, whole, more) =>
    h("div", null, h("dt", null, name), h("dd", null, shown), more, made && code(made, whole));
  // a contribution's factors
  const factors = (i) => {
    const pair = difference.factors?.[i]?.map((x) => (x < 0 ? `(${short(x)})` : short(x)));
    return pair && h("dd", { class: "mg-made" }, `= ${pair.join(" · ")}`);
  };
  const what = () => {
    const symbol = math([{ t: "sym", ...labelOf(known), accent }]);
    if (!difference.edge) return symbol;
    const [before, after] = t("pairPart", { node: "\n" }).split("\n");
    return h("span", { class: "mg-contribution" }, before, symbol, after);
  };
  const large = (whole) =>
    known &&
    (column || !Number.isInteger(difference.expected)) &&
    h(
      "div",
      { class: "mg-parted" },
      what(),
      h(
        "dl",
        { class: column && "mg-unequal" },
        bothOf(difference, t, (one) => brief(one, t, 24)).map((one, i) =>
          value(names[i], one, difference.made?.[i], whole, factors(i)),
        ),
      ),
    );
  const jump =
    Number.isInteger(step) &&
    h("button", { class: "mg-fold", onclick: () => go(step + 1) }, t("pairJump"));
  const marks = marksBeside(union.beside, t),
    sentence = announced(),
    parted = large(false),
    legend = h("p", { class: "mg-pairname" }, marks),
    // what a graph is made of comes after whether the results agree
    above = column ? [parted, sentence] : [sentence, parted],
    // of two values the large line says all
    said = !(known && column) && h("p", null, told),
    box = h("div", { class: "mg-verdict" }, large(true), said);
  return {
    bar: h("div", { class: "mg-root mg-strip", lang: t.lang }, above, jump, legend),
    box,
    tell(on) {
      sentence.textContent = on || !difference ? told : t("pairHeld");
      if (parted) parted.hidden = !on;
      box.classList.toggle("mg-held", !on);
    },
  };
}

// What either Trace has: values; of a node that is made in another way what makes it, and its
// value.
function bothOf({ expected, got, results }, t, text) {
  const both = results ?? [expected, got];
  if (results || both.includes(null))
    return both.map((one) => text(one) || t("pairMissingValue"));
  const [at, ...told] = apart(expected, got, text);
  return told.map((one) => at + one);
}

// Sliders over a viewer. A grid holds its Traces as one template and, for each point, the values
// that differ from it.
function mountGrid(el, grid, options) {
  const sizes = grid.inputs.map((input) => input.values.length),
    held = options.kept?.at;
  const at =
    held?.length === sizes.length && held.every((i, k) => i < sizes[k])
      ? [...held]
      : [...grid.start];
  const onKeep = (state) => options.onKeep?.({ ...state, at: [...at] });
  const index = () => at.reduce((all, i, k) => all * sizes[k] + i, 0);
  const arrays = grid.templates.some(({ trace }) => trace.nodes.some((one) => one.shape.length)),
    say = arrays ? "gridOfArrays" : "gridOfRuns",
    note = translator(options.lang)(say, { n: grid.points.length });
  return withSliders(
    el,
    grid.inputs.map((input, k) => ({
      name: input.name,
      min: 0,
      max: sizes[k] - 1,
      step: 1,
      value: at[k],
      text: (i) => short(input.values[i]),
      place: (value) => nearest(input.values, value),
      moved: (i) => {
        at[k] = i;
      },
    })),
    () => filled(grid, index()),
    { ...options, onKeep, note },
  );
}

const nearest = (values, value) =>
  values.reduce((best, v, i) => {
    return Math.abs(v - value) < Math.abs(values[best] - value) ? i : best;
  }, 0);

function filled(grid, i) {
  const [number, ...held] = grid.points[i],
    { trace, holes } = grid.templates[number],
    copy = structuredClone(trace);
  holes.forEach((path, k) => {
    const last = path.at(-1);
    path.slice(0, -1).reduce((place, name) => place[name], copy)[last] = held[k];
  });
  return copy;
}

// inputs: [{name, min, max, step, value, text(v), place(input's value), moved(v)}]; current(): the
// Trace at the sliders' place, or, as a text, why there is none. options.note: a sentence
// below the sliders.
// Long: a closure, whose functions share these elements and the state.
export function withSliders(el, inputs, current, options) {
  const t = translator(options.lang),
    place = h("div");
  let viewer = null,
    before = null; // what the reader saw last, where there is no Trace now
  const sliders = new Map(); // name of an input -> sets it
  const moving = {
    has: (name) => sliders.has(name),
    set: (name, value) => sliders.get(name)(value),
  };
  const rows = inputs.map((input) => {
    const shown = h("output", { class: "mg-slid" }, input.text(input.value));
    const slider = h("input", {
      type: "range",
      class: "mg-slider",
      min: input.min,
      max: input.max,
      step: input.step,
      value: input.value,
      "aria-label": input.name,
      "aria-valuetext": input.text(input.value),
    });
    slider.value = input.value;
    sliders.set(input.name, (value) => {
      slider.value = input.place(value);
      slider.dispatchEvent(new Event("input"));
    });
    const fill = () =>
      slider.style.setProperty(
        "--mg-at",
        (Number(slider.value) - input.min) / (input.max - input.min),
      );
    fill();
    slider.addEventListener("input", () => {
      const value = Number(slider.value);
      shown.textContent = input.text(value);
      slider.setAttribute("aria-valuetext", input.text(value));
      fill();
      input.moved(value);
      if (current) show(current());
    });
    return h(
      "label",
      { class: "mg-slide" },
      h("span", null, `${input.name} =`),
      shown,
      h("span", { class: "mg-track" }, slider),
    );
  });
  const bar = h(
    "div",
    {
      class: "mg-root mg-strip",
      "data-theme": options.theme,
      lang: t.lang,
      role: "group",
      "aria-label": t("inputs"),
      onkeydown: (event) => passStage(event, viewer),
    },
    rows,
    options.note && note(options.note),
  );
  const root = h("section", { class: "mg-slides", "aria-label": t("inputs") }, bar, place);
  el.replaceChildren(keepKeys(root));
  // Shows the new Trace at the step that was shown, with the views that were open.
  function show(trace) {
    if (typeof trace === "string") return fail(trace);
    if (viewer?.renew(trace)) return;
    const kept = before ?? seen();
    before = null;
    kept.step = Math.min(kept.step ?? options.step ?? 0, trace?.steps?.length ?? 0);
    const tall = place.offsetHeight;
    place.style.minHeight = `${tall}px`;
    viewer?.destroy();
    viewer = mountTrace(place, trace, { ...options, ...kept, inputs: moving });
    if (kept.kept) options.onKeep?.(viewer.state());
    place.style.minHeight = "";
  }
  const seen = () => (viewer ? { step: viewer.step(), kept: viewer.state() } : {});
  function fail(message) {
    before ??= seen();
    viewer?.destroy();
    viewer = failure(place, t, message, options);
  }
  if (current) show(current());
  return {
    ...{ show, root, fail },
    get length() {
      return viewer?.length ?? 0;
    },
    go: (k) => viewer?.go(k),
    step: () => viewer?.step() ?? 0,
    views: () => viewer?.views() ?? [],
    theme: (name) =>
      [bar, viewer.root].forEach((e) => {
        e.dataset.theme = name;
      }),
    destroy: () => viewer?.destroy(),
  };
}
