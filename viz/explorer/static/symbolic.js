// The derivative as a formula in the inputs alone: forward mode, in which every tangent is written
// out. Values that are used often are written as often, which is why such formulas grow.

import { written, WRITING } from "./notation.js";
import { ARITHMETIC } from "./recorder.js";
import { GRAMMAR, OPERATIONS } from "./rules.js";
import { textOf } from "./text.js";

// What changes nothing in one real number.
const UNCHANGED = new Set(["real", "conj", "broadcast_to", "reshape", "sum_to"]);

// The operations that write formulas, with what is plain to see left out.
const TIDY = {
  ...WRITING,
  ...Object.fromEntries([...UNCHANGED].map((name) => [name, (a) => a])),
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

// out, input: values that a Recorder made at a point. Returns {found, text, operations, number}:
// the derivative as a formula, as text (empty where that has more letters than `longest`), and its
// number.
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
      const [reads, rule] = declared,
        read = reads.map((s) => formulaOf(s < 0 ? value : value.args[s]));
      sum = TIDY.add(sum, rule(TIDY, own, ...read, value.params));
    });
    tangents.set(value, sum);
    return sum;
  };
  const found = tangentOf(out),
    operations = sizeOf(found);
  const text = operations <= longest ? textOf(written.tokens(found)) : "";
  const number = formulaNumber(found, values, new Map());
  return { found, text: text.length <= longest ? text : "", operations, number };
}

// ---------------------------------------------------------------------- formulas as programs again

// The words of the grammar by the operations that they call, with their operators' signs.
const SPELLED = new Map();
const noteWord = (call, sign) => {
  const seen = [],
    noted = new Proxy({}, { get: (_, name) => () => seen.push(name) });
  call(noted, "a", "b");
  if (seen.length === 1 && !SPELLED.has(seen[0])) SPELLED.set(seen[0], sign);
};
for (const [sign, [call]] of Object.entries(GRAMMAR.operators)) noteWord(call, { sign });
for (const [word, call] of Object.entries(GRAMMAR.functions)) noteWord(call, { word });
SPELLED.set("sgn", { word: "sign" }).set("bitwise_and", { sign: "and" });
SPELLED.set("bitwise_or", { sign: "or" });
const TRUTH = /^([lg][te]|eq|ne|bitwise_.*)$/;
// How closely the left and the right operand of a sign must hold together, and what it makes does.
const HOLDS = { "+": [2, 2, 2], "-": [2, 3, 2], "*": [3, 3, 3], "/": [3, 4, 3], "**": [6, 5, 5] };
const BARE = 6;
// Two conditions as one; one that constants decide is "true" or "false".
function joinedConditions(sign, a, b) {
  const [decides, leaves] = sign === "and" ? ["false", "true"] : ["true", "false"];
  if (a === decides || b === decides) return decides;
  return a === leaves ? b : b === leaves ? a : `(${a} ${sign} ${b})`;
}

// The program that computes a formula in the language of the page, in which it can be
// differentiated again: a value that is used twice has a name, and a choice is an `if`. name: of
// the input that a constant formula does not depend on; inputs: the names of all. Null where the
// language has no word for an operation or a number.
export function programOf(found, name, inputs) {
  const lines = [],
    texts = new Map(),
    uses = new Map();
  const count = (f) => {
    if (f?.args && uses.set(f, (uses.get(f) ?? 0) + 1).get(f) === 1) f.args.forEach(count);
  };
  const named = (write) => {
    let own = `t${lines.length + 1}`;
    while (inputs.includes(own)) own += "t";
    lines.push(write(own));
    return own;
  };
  const text = (f, least = 0) => {
    if (!f?.args && !f?.input && !Number.isFinite(f)) throw new TypeError("no word for it");
    if (!f?.args) return f?.input ?? (f < 0 || Object.is(f, -0) ? `(${f})` : String(f));
    if (!texts.has(f)) {
      const own = spelled(f),
        often = uses.get(f) > 1 && !TRUTH.test(f.name); // a truth value has no name
      texts.set(f, often ? [named((t) => `${t} = ${own[0]}`), BARE] : own);
    }
    const [own, holds] = texts.get(f);
    return holds < least ? `(${own})` : own;
  };
  // The text of an operation, and how closely it holds together.
  const spelled = ({ name: op, args, params }) => {
    if (op === "zeros_like") return ["0", BARE];
    if (UNCHANGED.has(op) || (op === "pow" && params.n === 1)) return [text(args[0], BARE), BARE];
    if (op === "where") {
      const [a, b, c] = args.map((one) => text(one));
      if (a === "true" || a === "false") return [`(${a === "true" ? b : c})`, BARE];
      return [named((t) => `if ${a}: ${t} = ${b}\nelse: ${t} = ${c}`), BARE];
    }
    if (op === "neg") return [`-${text(args[0], 4)}`, 1];
    if (op === "pow") return [`${text(args[0], BARE)}**${text(params.n)}`, 5];
    const { sign, word } = SPELLED.get(op);
    if (word) return [`${word}(${args.map((one) => text(one)).join(", ")})`, BARE];
    if (sign === "and" || sign === "or")
      return [joinedConditions(sign, ...args.map((one) => text(one))), BARE];
    const [left, right, own] = HOLDS[sign] ?? [2, 2, 0]; // else it compares
    return [`${text(args[0], left)} ${sign} ${text(args[1], right)}`, own];
  };
  try {
    count(found);
    const result = text(found);
    lines.push(found?.args || found?.input ? result : `${result} + 0*${name}`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // something without a word
    return null;
  }
  return lines.join("\n");
}
