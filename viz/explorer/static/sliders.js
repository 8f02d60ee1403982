// Sliders over a function in a page without a kernel: at each of their places the engine
// differentiates it, and the recorded Trace gets the values.

import { MOUNTS, withSliders } from "../../static/viewer/hosts.js";
import { failed } from "../../static/viewer/main.js";
import { short } from "../../static/viewer/numbers.js";
import { compileFormula, differentiate, FormulaError } from "./engine.js";
import { withPlaces } from "./measure.js";
import { numberText } from "./text.js";

const SLIDER_PLACES = 200;

// held: {text, mode, seeds, values, inputs: [{name, values: [low, high]}], title, trace}; title:
// that of every Trace, or null where it says the point.
function mountFunction(el, held, options) {
  const { text, mode, seeds, values, inputs, title, trace } = held;
  const compiled = { ...compileFormula(text), names: Object.keys(values) },
    point = { ...values };
  const before = options.kept?.at;
  if (before?.length === inputs.length)
    inputs.forEach(({ name }, i) => (point[name] = before[i]));
  const titled = () => {
    const [called] = trace.title.split("), "),
      at = Object.entries(point).map(([name, value]) => `${name} = ${numberText(value)}`);
    return title ?? `${called}), ${at.join(", ")}`;
  };
  let laid = trace;
  function current() {
    const found = differentiate(compiled, point, { mode, seeds });
    const steps = trace.steps.map((step, i) => {
      const { writes, formula, say, nonfinite, despite, contribs = step.contribs } = found.steps[i];
      return { ...step, writes, formula, say, nonfinite, despite, contribs };
    });
    laid = withPlaces({ ...trace, title: titled(), seed: found.seed, steps }, laid);
    return laid;
  }
  const onKeep = (state) =>
    options.onKeep?.({ ...state, at: inputs.map(({ name }) => point[name]) });
  return withSliders(
    el,
    inputs.map(({ name, values: [min, max] }) => ({
      ...{ name, min, max, step: (max - min) / SLIDER_PLACES, value: point[name], text: short },
      place: (value) => value,
      moved: (value) => (point[name] = value),
    })),
    () => {
      try {
        return current();
      } catch (error) {
        return error instanceof FormulaError ? error.problem : failed(el, error, options);
      }
    },
    { ...options, onKeep },
  );
}

MOUNTS["minigrad.function/1"] = mountFunction;
