// What predict mode asks before a step, whether an answer is right, and what a wrong one suggests.

import { key } from "../fold.js";
import { innerFormulas } from "../nested.js";
import { numberOf } from "../numbers.js";
import { askedOfArray } from "./array_questions.js";

// relative: three digits are enough, and a rounded intermediate result may be used
const TOLERANCE = 0.005,
  ROUNDED = 0.05; // of an answer that was computed with too few digits

// What a step asks: {kind: "number" | "shape" | "element", value, index?}, or null. shapeOf(id): a
// node's shape. Of an array's value the shape is asked, where it is not that of every operand;
// else, and of a tangent or an adjoint, one element, where everything that it is computed from can
// be seen. What stands on the screen is not asked, nor what is given (an input, a constant, a
// seed).
export function asked(node, step, k, shapeOf = () => []) {
  const value = step.writes?.[0]?.[2];
  if (
    step.phase === "seed" ||
    step.phase === "update" ||
    value === undefined ||
    typeof value === "boolean"
  )
    return null;
  if (
    step.phase === "primal" &&
    (["input", "const", "param", "seed"].includes(node.kind) || step.keep)
  )
    return null;
  return askedOfArray(step, k, (step.reads ?? []).map(([id]) => shapeOf(id)));
}

export function near(answer, value, tolerance = TOLERANCE) {
  const truth = numberOf(value);
  if (Number.isNaN(truth) || !Number.isFinite(truth)) return Object.is(answer, truth);
  return Math.abs(answer - truth) <= Math.max(tolerance * Math.abs(truth), 5e-4);
}

// What a wrong answer suggests, as the name of a hint: the first misconception that gives it.
// state: the cells before the step; what: what was asked.
export function misconception(trace, step, given, what, state) {
  if (what.kind === "shape")
    return String([...given].reverse()) === String(what.value) ? "hintTransposed" : null;
  const close = (value) => Number.isFinite(numberOf(value)) && near(given, value),
    element = (value) => (what.kind === "element" ? (value?.sample?.[what.at] ?? value) : value),
    contribs = step.contribs ?? [],
    writes = ({ writes: [to], pass }) => to && `${to.slice(0, 2)} ${pass}`,
    last = trace.steps.findLast((one) => one.writes && writes(one) === writes(step)),
    some = (part) => contribs.some((c) => close(element(c[part]))),
    truth = numberOf(what.value);
  const found = [
    ["hintEnd", step.partial && close(element(last.writes[0][2]))],
    ["hintPart", step.phase === "accumulate" && some("product")],
    ["hintBefore", step.phase === "accumulate" && some("before")],
    ["hintSign", truth && close(-truth)],
    ["hintOne", contribs.length > 1 && some("product")],
    ["hintUpstream", contribs.length > 0 && some("upstream")],
    ["hintLocal", some("local")],
    ["hintFactor", factorsOf(step.formula).some((n) => close(truth / n))],
    ...(step.phase === "primal"
      ? ofOperation(trace, step, truth, close, state)
      : ofRule(trace, contribs, close, (id) => element(state.get(key(id, "v"))), element)),
    ["hintInverse", truth && close(1 / truth)],
    ["hintRounded", near(given, truth, ROUNDED)],
  ];
  return found.find(([, holds]) => holds)?.[0] ?? null;
}

// The numbers of a formula that a factor may be.
const factorsOf = (tokens) =>
  (tokens ?? []).flatMap((one) =>
    one.t === "num" && !one.col && ![0, 1].includes(one.value)
      ? [numberOf(one.value)]
      : factorsOf(one.t === "sup" ? one.base : innerFormulas(one).flat()),
  );

// Of a derivative: another operand in the place of the right one, or the function's value in the
// place of its derivative.
function ofRule({ edges }, contribs, close, valueOf, element) {
  const to = (c) => edges.find(({ id }) => id === c.edge).dst,
    times = (ids) => (c) =>
      ids(c).some((id) => close(numberOf(element(c.upstream)) * numberOf(valueOf(id))));
  const operands = (c) => edges.filter(({ dst }) => dst === to(c)).map(({ src }) => src);
  return [
    ["hintOther", contribs.some(times(operands))],
    ["hintFunction", contribs.some(times((c) => [to(c)]))],
  ];
}

// Of an operation's value: an angle in degrees, a logarithm of base 10, or an operand.
function ofOperation(trace, step, truth, close, state) {
  const node = trace.nodes.find(({ id }) => id === step.node),
    operands = trace.edges
      .filter((e) => e.dst === step.node)
      .map((e) => state.get(key(e.src, "v"))),
    degrees = { sin: Math.sin, cos: Math.cos, tan: Math.tan }[node.op],
    [a, b] = operands.map(numberOf);
  return [
    ["hintDegrees", degrees && close(degrees((numberOf(operands[0]) * Math.PI) / 180))],
    ["hintBase", node.op === "log" && close(truth / Math.LN10)],
    ["hintOperand", operands.some(close)],
    ["hintOperator", operands.length === 2 && [a + b, a - b, b - a, a * b, a / b].some(close)],
  ];
}
