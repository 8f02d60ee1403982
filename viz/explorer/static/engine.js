// Differentiates a formula or a program at a point: its text becomes statements (check.js), these
// run on a Recorder, and what that writes is a Trace.

import { characterColumn, chooses, compileFormula, refusal } from "./check.js";
import { ARITHMETIC, constant, isValue, Recorder } from "./recorder.js";
import { GRAMMAR } from "./rules.js";
import { FormulaError } from "./tokens.js";

// A value as the command line shows it: 6 significant digits.
function shownNumber(value) {
  if (typeof value !== "number") return String(value);
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, power] = value.toExponential(5).split("e"),
    exponent = Number(power);
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent >= -4 && exponent < 6) return short(value.toFixed(Math.max(0, 5 - exponent)));
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  return `${short(mantissa)}e${exponent < 0 ? "-" : "+"}${digits}`;
}

// One run of a compiled text on a Recorder.
class Run {
  constructor(compiled, recorder) {
    Object.assign(this, { ...compiled, recorder, variables: new Map(), here: null, waits: null });
    this.lines = this.source.split("\n");
    this.left = GRAMMAR.limits.run;
    this.constants = this.isProgram ? null : constantParts(this.body[0]);
  }

  // The recorder asks where the program stands, and whether the latest result has its name.
  get place() {
    return {
      span: () => {
        const { row, start, endRow, end } = this.here;
        const [first, last] = [this.lines[row], this.lines[endRow]];
        return [row + 1, characterColumn(first, start), endRow + 1, characterColumn(last, end)];
      },
      arrived: () => {
        const { waits } = this;
        if (waits && this.variables.get(waits.name) === waits.value)
          waits.value.facts.name ??= waits.name;
        this.waits = null;
      },
    };
  }

  // The text's result: a value, or a number.
  result() {
    if (!this.isProgram) return this.evaluate(this.body[0]);
    const last = this.body.at(-1),
      isFormula = last.type === "Expr";
    for (const statement of isFormula ? this.body.slice(0, -1) : this.body) this.execute(statement);
    const found = isFormula ? this.evaluate(last.value) : this.read(last.target);
    for (const value of this.variables.values()) this.recorder.release(value);
    return found;
  }

  // --------------------------------------------------------------------------------- statements

  execute(statement) {
    const { type, body, orelse } = statement;
    if (type === "Assign") {
      const { target, value } = statement,
        made = this.evaluate(value);
      this.set(target.id, made);
      // the operation that the statement itself runs is named by the variable; `y = x` runs none
      if (isValue(made) && made.op && this.here === value)
        this.waits = { name: target.id, value: made };
    } else if (type === "If") {
      for (const inner of this.holds(statement.test) ? body : orelse) this.execute(inner);
    } else this.repeat(statement);
  }

  set(name, value) {
    const before = this.variables.get(name);
    this.variables.set(name, value);
    this.recorder.release(before);
  }

  repeat({ target, iter, body }) {
    const given = iter.args.map((argument) => this.evaluate(argument));
    for (const value of given)
      if (!Number.isInteger(value)) {
        const shown = isValue(value) ? "a value that was computed" : shownNumber(value);
        throw this.problem("whole", iter, { value: shown });
      }
    const [from, to, by] = given.length === 1 ? [0, given[0], 1] : [...given, 1];
    if (by === 0) throw this.problem("whole", iter, { value: "a step of 0" });
    const { run } = GRAMMAR.limits,
      count = Math.max(0, Math.ceil((to - from) / by));
    this.left -= Math.max(1, operationCount(body)) * count;
    if (this.left < 0) throw this.problem("endless", iter, { most: run.toLocaleString("en-US") });
    for (let k = 0; k < count; k++) {
      this.set(target.id, from + k * by);
      for (const statement of body) this.execute(statement);
    }
  }

  problem(key, node, blanks) {
    return refusal(key, this.lines[node.row], node.start, node.end - node.start, blanks);
  }

  holds(test) {
    if (test.type === "BoolOp") {
      const decides = test.word === "or"; // the first answer of this kind is the answer
      for (const part of test.values) if (this.holds(part) === decides) return decides;
      return !decides;
    }
    if (test.op === "not") return !this.holds(test.operand);
    let left = this.evaluate(test.values[0]);
    for (const [k, sign] of test.signs.entries()) {
      const right = this.evaluate(test.values[k + 1]);
      const answer = this.binary(sign, left, right, test);
      const truth = isValue(answer) ? answer.number : answer;
      if (isValue(answer)) this.recorder.asked.add(answer.id);
      for (const used of [answer, left]) this.recorder.release(used);
      left = right;
      if (!truth) break;
    }
    const last = this.truth;
    this.recorder.release(left);
    return last;
  }

  // -------------------------------------------------------------------------------- expressions

  read(node) {
    const { id } = node;
    if (!this.variables.has(id)) {
      if (Object.hasOwn(GRAMMAR.constants, id)) return GRAMMAR.constants[id];
      throw this.problem("unset", node, { name: id });
    }
    const value = this.variables.get(id);
    if (isValue(value)) value.holders += 1;
    return value;
  }

  // A node's value; its operands are released when they have been used.
  evaluate(node) {
    if (node.type === "Constant") return node.value;
    if (node.type === "Name") return this.read(node);
    if (node.type === "UnaryOp") {
      const operand = this.evaluate(node.operand);
      if (node.op === "+") return operand;
      return isValue(operand) ? this.record(node, [operand], GRAMMAR.negative) : -operand;
    }
    const parts = partsOf(node);
    const operands = parts.map((part) => {
      const value = this.evaluate(part);
      return this.constants?.has(node) && !isValue(value) ? constant(value) : value;
    });
    if (node.type === "Compare") return this.compared(node, operands);
    if (node.type !== "Call") return this.binary(node.op, ...operands, node);
    const name = node.func.id;
    return chooses(name)
      ? this.chosen(node, operands)
      : this.record(node, operands, GRAMMAR.functions[name]);
  }

  // The comparison in a function that chooses.
  compared(node, operands) {
    const made = this.binary(node.signs[0], ...operands, node);
    operands.forEach((used) => this.recorder.release(used));
    return made;
  }

  // What numbers alone decide is no operation; two numbers to choose between are constants.
  chosen(node, [test, a, b]) {
    if (!isValue(test)) {
      this.recorder.release(test ? b : a);
      return test ? a : b;
    }
    const given = isValue(a) || isValue(b) ? [a, b] : [a, b].map(constant);
    return this.record(node, [test, ...given], GRAMMAR.functions[node.func.id]);
  }

  binary(sign, a, b, node) {
    const row = GRAMMAR.operators[sign],
      kind = isValue(a) === isValue(b) ? 0 : isValue(a) ? 1 : 2;
    return this.record(node, [a, b], row[kind]);
  }

  // What the grammar calls: operations on values, or arithmetic where there are numbers alone.
  record(node, operands, call) {
    this.here = node;
    const values = operands.some(isValue);
    const made = call(values ? this.recorder.recording : ARITHMETIC, ...operands);
    this.truth = isValue(made) ? made.number : made;
    if (!COMPARING.has(node.type)) operands.forEach((used) => this.recorder.release(used));
    return made;
  }
}

// The operands of an operation.
const partsOf = ({ type, args, values, left, right }) =>
  type === "Call" ? args : type === "Compare" ? values : [left, right];

const COMPARING = new Set(["Compare"]); // whose operands may be compared twice

// The operations of a formula that have numbers alone as operands, which are float64 constants.
function constantParts(tree) {
  const found = new Set();
  const isConstant = (node) => {
    if (node.type === "Constant") return true;
    if (node.type === "Name") return Object.hasOwn(GRAMMAR.constants, node.id);
    if (node.type === "UnaryOp") return isConstant(node.operand);
    const all = partsOf(node).map(isConstant).every(Boolean);
    if (all && !(node.type === "Call" && chooses(node.func.id))) found.add(node);
    return all;
  };
  isConstant(tree);
  return found;
}

function operationCount(thing) {
  if (Array.isArray(thing)) return thing.reduce((sum, one) => sum + operationCount(one), 0);
  if (!thing?.type) return 0;
  const own = ["BinOp", "UnaryOp", "Call", "Compare"].includes(thing.type) ? 1 : 0;
  return Object.entries(thing).reduce(
    (sum, [key, inner]) => sum + (key === "sign" ? 0 : operationCount(inner)),
    own,
  );
}

// ----------------------------------------------------------------------------------------- numbers

const PLAIN_NUMBER = /^\s*[+-]?(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:e[+-]?\d+)?\s*$/i;

// The number that a text spells, or a formula without variables such as pi/2. what: "value" or
// "seed". Raises FormulaError in the words of the command line.
export function numberFrom(name, text, what = "value") {
  const hint = `write ${name}=2 or ${name}=pi/2`,
    fail = (problem) =>
      new FormulaError(problem, `${name}=${text}`, name.length + 1, hint, text.length);
  if (PLAIN_NUMBER.test(text)) return Number(text.replace(/_/g, ""));
  const word = text.trim().replace(/inf(inity)?$/i, "Infinity");
  if (/^[+-]?(nan|Infinity)$/i.test(word)) return Number(word);
  let compiled;
  try {
    compiled = compileFormula(text);
  } catch (error) {
    throw fail(`the ${what} of ${name} is not a number: ${error.problem}`);
  }
  const [unknown] = compiled.names;
  if (unknown) throw fail(`${name}=${text} is not a number: there is no constant ${unknown}`);
  return evaluateAt(compiled, {});
}

const NOTHING_RECORDED = { release() {} };

// The value of a compiled text at a point, without a Trace.
export function evaluateAt(compiled, values) {
  const run = new Run(compiled, NOTHING_RECORDED);
  run.constants = null;
  for (const name of compiled.names) run.variables.set(name, values[name]);
  return run.result();
}

// ------------------------------------------------------------------------------------------ Traces

// The Trace of a text at a point. values: a number for each variable, by name; mode: "primal",
// "forward", "reverse" or "both"; seeds: the tangents by name, where they are not 1 and 0, 0, ….
// Raises FormulaError: the text or the values do not do.
export const differentiate = (text, values, options) => runRecorded(text, values, options).trace;

// The Trace, and the values that the run made: its result, and its inputs by name.
export function runRecorded(text, values, { mode = "both", seeds = null, title } = {}) {
  const compiled = typeof text === "string" ? compileFormula(text) : text,
    { names, source } = compiled;
  if (!names.length)
    throw new FormulaError(
      `'${source}' has no variable to differentiate with respect to; write one in, for example x`,
      source,
      0,
    );
  const run = new Run(compiled, null),
    recorder = new Recorder(names, run.place),
    forward = mode === "forward" || mode === "both",
    inputs = new Map();
  run.recorder = recorder;
  names.forEach((name, i) => {
    const tangent = forward ? (seeds ? (seeds[name] ?? 0) : i ? 0 : 1) : undefined;
    inputs.set(name, recorder.input(name, values[name], tangent));
    run.variables.set(name, inputs.get(name));
  });
  let out = run.result();
  if (!isValue(out)) out = constant(out);
  recorder.output(out);
  if (mode === "reverse" || mode === "both") recorder.reverse(out);
  const point = names.map((name) => `${name} = ${values[name]}`).join(", ");
  const trace = recorder.document(title ?? `${source},  ${point}`, source);
  return { trace, out, inputs };
}

export { compileFormula, FormulaError };
