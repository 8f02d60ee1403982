// The derivative as a formula in the inputs alone: forward mode, in which every tangent is written
// out. Values that are used often are written as often, which is why such formulas grow.

import { written, WRITING } from "./notation.js";
import { ARITHMETIC } from "./recorder.js";
import { OPERATIONS } from "./rules.js";
import { textOf } from "./text.js";

// The operations that write formulas, with what is plain to see left out.
const TIDY = {
  ...WRITING,
  mul: (a, b) => (a === 0 || b === 0 ? 0 : a === 1 ? b : b === 1 ? a : WRITING.mul(a, b)),
  add: (a, b) => (a === 0 ? b : b === 0 ? a : WRITING.add(a, b)),
  div: (a, b) => (a === 0 ? 0 : b === 1 ? a : WRITING.div(a, b)),
  neg: (a) => (a === 0 ? 0 : WRITING.neg(a)),
};

// How many operations a formula has when it is written out.
function sizeOf(formula, known = new Map()) {
  if (!formula?.args) return 0;
  if (!known.has(formula)) {
    const inside = formula.args.reduce((sum, one) => sum + sizeOf(one, known), 0);
    known.set(formula, 1 + inside);
  }
  return known.get(formula);
}

// A formula's number at a point.
function formulaNumber(formula, values, known) {
  if (!formula?.args) return formula?.input === undefined ? formula : values[formula.input];
  if (!known.has(formula)) {
    const args = formula.args.map((one) => formulaNumber(one, values, known));
    known.set(formula, ARITHMETIC[formula.name](...args, formula.params));
  }
  return known.get(formula);
}

// out, input: values that a Recorder made at a point. Returns {text, operations, number}; no text
// where it has more letters than `longest`.
export function derivativeOf(out, input, values, longest) {
  const formulas = new Map(),
    tangents = new Map([[input, 1]]);
  const formulaOf = (value) => {
    if (typeof value !== "object") return value;
    if (!value.op) return value.history ? written(value.id) : value.number;
    if (!formulas.has(value)) {
      const args = value.args.map(formulaOf);
      formulas.set(value, WRITING[value.op](...args, value.params));
    }
    return formulas.get(value);
  };
  const tangentOf = (value) => {
    if (typeof value !== "object" || !value.op) return tangents.get(value) ?? 0;
    if (tangents.has(value)) return tangents.get(value);
    const { pulls, pushes } = OPERATIONS[value.op];
    let sum = 0;
    value.args.forEach((argument, slot) => {
      const own = tangentOf(argument),
        declared = (pushes ?? pulls)?.[slot];
      if (own === 0 || !declared) return;
      const read = declared.reads.map((s) => formulaOf(s < 0 ? value : value.args[s]));
      sum = TIDY.add(sum, declared.rule(TIDY, own, ...read, value.params));
    });
    tangents.set(value, sum);
    return sum;
  };
  const found = tangentOf(out),
    operations = sizeOf(found);
  const text = operations <= longest ? textOf(written.tokens(found)) : "";
  const number = formulaNumber(found, values, new Map());
  return { text: text.length <= longest ? text : "", operations, number };
}
