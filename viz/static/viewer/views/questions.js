// What predict mode asks before a step, whether an answer is right, and what a wrong one suggests.

import { key } from "../fold.js";
import { numberOf } from "../numbers.js";

// relative: three digits are enough, and a rounded intermediate result may be used
const TOLERANCE = 0.005,
  ROUNDED = 0.05; // of an answer that was computed with too few digits
const WRITTEN_OUT = 16; // elements of an array up to which a Trace holds them all

// What a step asks: {kind: "number" | "shape" | "element", value, index?}, or null. sizeOf(id): how
// many elements a node has. Of an array's value the shape is asked, of its tangent or adjoint one
// element, where everything that it is computed from can be seen, else its shape. A step that only
// states what is given (an input, a constant, a seed) asks nothing.
export function asked(node, step, k, sizeOf = () => 1) {
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
  const known = (step.reads ?? []).every(([id]) => sizeOf(id) <= WRITTEN_OUT);
  if (typeof value !== "object")
    // of a large sum: that it is one number
    return known ? { kind: "number", value } : { kind: "shape", value: [] };
  if (!value.shape) return null; // a complex number
  const seen = known && value.shape.reduce((a, b) => a * b, 1) <= value.sample.length;
  if (
    step.phase === "primal" ||
    !seen ||
    !value.sample.length ||
    typeof value.sample[0] === "object"
  )
    return { kind: "shape", value: value.shape };
  const at = (7 * k + 3) % value.sample.length,
    index = [];
  let rest = at;
  for (const size of [...value.shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return { kind: "element", value: value.sample[at], index, at };
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
    element = (value) => (what.kind === "element" ? value?.sample?.[what.at] : value),
    contribs = step.contribs ?? [],
    some = (part) => contribs.some((c) => close(element(c[part]))),
    truth = numberOf(what.value);
  const found = [
    ["hintPart", step.phase === "accumulate" && some("product")],
    ["hintBefore", step.phase === "accumulate" && some("before")],
    ["hintSign", truth && close(-truth)],
    ["hintOne", contribs.length > 1 && some("product")],
    ["hintUpstream", contribs.length > 0 && some("upstream")],
    ["hintLocal", some("local")],
    ...(step.phase === "primal" ? ofOperation(trace, step, truth, close, state) : []),
    ["hintInverse", truth && close(1 / truth)],
    ["hintRounded", near(given, truth, ROUNDED)],
  ];
  return found.find(([, holds]) => holds)?.[0] ?? null;
}

// Of an operation's value: an angle in degrees, a logarithm of base 10, or an operand.
function ofOperation(trace, step, truth, close, state) {
  const node = trace.nodes.find(({ id }) => id === step.node),
    operands = trace.edges
      .filter((e) => e.dst === step.node)
      .map((e) => state.get(key(e.src, "v"))),
    degrees = { sin: Math.sin, cos: Math.cos, tan: Math.tan }[node.op];
  return [
    ["hintDegrees", degrees && close(degrees((numberOf(operands[0]) * Math.PI) / 180))],
    ["hintBase", node.op === "log" && close(truth / Math.LN10)],
    ["hintOperand", operands.some(close)],
  ];
}
