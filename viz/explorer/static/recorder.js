// Runs operations on numbers and writes the Trace of what it does: the nodes, edges and steps that
// minigrad/watch/trace_recorder.py writes for minigrad's own engine. Every number comes from a
// forward function or a derivative rule of rules.js.

import {
  expressionOf,
  labelFacts,
  numberToken,
  pulledTokens,
  pushedTokens,
  symbolToken,
  valuesIn,
} from "./notation.js";
import { explain, madeHere } from "./not_finite.js";
import { OPERATIONS } from "./rules.js";
import { computedStep, givenStep, pulledStep, pushedStep, seedStep } from "./sentences.js";
import { valueOf } from "./text.js";

const COLUMN_FACTS = {
  v: { key: "v", label: "value", phase: "primal" },
  d: { key: "d", label: "tangent", phase: "tangent" },
  g: { key: "g", label: "adjoint", phase: "adjoint" },
};

// The operations as functions of numbers.
export const ARITHMETIC = Object.fromEntries(
  Object.entries(OPERATIONS).map(([name, { inputs, forward }]) => [
    name,
    (...given) => forward(...given.slice(0, inputs.length), given[inputs.length] ?? {}),
  ]),
);

// A value of the Trace. `history`: it depends on an input; `holders`: variables and operations
// through which it can still be reached.
class Value {
  constructor(number, facts = {}) {
    Object.assign(this, { number, tangent: undefined, history: false, holders: 1, edges: [] });
    Object.assign(this, facts);
  }
}
export const isValue = (thing) => thing instanceof Value;
export const constant = (number) => new Value(number, { role: "constant" });

// Which one an operand is where it occurs more than once in an operation.
function occurrence(args, slot) {
  const same = [...args.keys()].filter((i) => args[i] === args[slot]);
  return same.length > 1 ? ["first", "second", "third"][same.indexOf(slot)] : "";
}

// How a value is made, for the sentences of its derivatives.
const makingOf = (made) => ({
  expr: made.facts.expr,
  single: made.edges.filter(Boolean).length === 1,
  value: (id) => [made, ...made.args].find((one) => one?.id === id)?.number,
});
const numberOfOperand = (a) => (isValue(a) ? a.number : a);
// A pair: what the rule reads, an operand's place or -1 for the result, and the rule.
const declaredRule = (name, slot, way) => {
  const { kind, pulls, pushes } = OPERATIONS[name];
  return kind === "constant"
    ? null
    : ((way === "push" ? (pushes ?? pulls) : pulls)?.[slot] ?? null);
};

// What a rule computes of a cotangent or tangent g for an operation that has run.
function runRule([reads, rule], g, made) {
  const read = reads.map((source) =>
    source < 0 ? made.number : numberOfOperand(made.args[source]),
  );
  return rule(ARITHMETIC, g, ...read, made.params);
}

export class Recorder {
  constructor(names, place) {
    Object.assign(this, { nodes: [], edges: [], steps: [], inputs: [], outputs: [], seeds: {} });
    this.taken = new Set(names);
    this.asked = new Set(); // conditions: they lead to what runs
    this.made = {}; // of values that are not finite: what says why, where they were made so
    this.counts = { v: 0, c: 0 };
    this.keeping = new Set();
    this.dead = [];
    this.place = place; // where in the text the program stands: a span, and what waits for its name
    // the operations as functions that record
    this.recording = Object.fromEntries(
      Object.entries(OPERATIONS).map(([name, { inputs }]) => [
        name,
        (...given) => this.apply(name, given.slice(0, inputs.length), given[inputs.length] ?? {}),
      ]),
    );
  }

  // ---------------------------------------------------------------------------- nodes and steps

  freshName(prefix) {
    for (;;) {
      const name = `${prefix}${++this.counts[prefix]}`;
      if (!this.taken.has(name)) return name;
    }
  }

  add(id, kind, expr, value) {
    const dtype = typeof value.number === "boolean" ? "bool" : "float64";
    const facts = { id, label: labelFacts(id), kind, expr, shape: [], dtype, stage: "primal" };
    this.nodes.push(facts);
    Object.assign(value, { id, facts });
    return facts;
  }

  step(phase, node, edges, reads, write, { formula, say }, more = {}) {
    this.noteFreed();
    this.steps.push({ phase, node, edges, reads, writes: [write], formula, say, ...more });
  }

  noteFreed() {
    this.free(this.dead);
    this.dead = [];
  }

  // The latest step says whose saved values are freed.
  free(names) {
    const gone = names.filter((name) => this.keeping.delete(name));
    if (gone.length) (this.steps.at(-1).free ??= []).push(...gone);
  }

  input(name, number, tangent) {
    const value = new Value(number, { history: true, tangent });
    this.add(name, "input", [], value);
    this.inputs.push(name);
    this.given(value, "input");
    if (tangent !== undefined) {
      (this.seeds.tangents ??= Object.create(null))[name] = valueOf(tangent);
      const write = [name, "d", valueOf(tangent)];
      this.step("seed", name, [], [], write, seedStep(name, "dot", tangent));
    }
    return value;
  }

  given({ id, number }, role) {
    this.step("primal", id, [], [], [id, "v", valueOf(number)], givenStep(id, role, number));
  }

  nameOf(value) {
    if (value.id === undefined) {
      this.add(this.freshName("c"), "const", [], value);
      this.given(value, "constant");
    }
    return value.id;
  }

  // -------------------------------------------------------------------------------- operations

  // An operation on values and numbers; on numbers alone it is plain arithmetic.
  apply(name, args, params) {
    if (!args.some(isValue)) return ARITHMETIC[name](...args, params);
    this.place.arrived();
    const operands = args.map((a) => (isValue(a) ? this.nameOf(a) : null));
    const made = new Value(ARITHMETIC[name](...args.map(numberOfOperand), params), {
      ...{ op: name, args, params },
    });
    made.history =
      OPERATIONS[name].kind !== "constant" && args.some((a) => isValue(a) && a.history);
    this.note(made, operands);
    this.pushTangent(made);
    if (made.history) for (const a of args) if (isValue(a) && a.history) a.holders += 1;
    return made;
  }

  note(made, operands) {
    const { op, args, params } = made,
      id = this.freshName("v");
    const symbols = args.map((a) => (isValue(a) ? symbolToken(a.id) : numberToken(a)));
    const numbers = args.map((a) => (isValue(a) ? numberToken(a.number, "v") : numberToken(a)));
    const expr = expressionOf(op, symbols, params),
      facts = this.add(id, "op", expr, made),
      span = this.place.span();
    Object.assign(facts, { op, span, saved: this.savedBy(made, operands) });
    this.made[id] = madeHere(made, args.map(numberOfOperand), symbols);
    if (facts.saved.length) this.keeping.add(id);
    operands.forEach((src, slot) => {
      if (src === null) return;
      const edge = { id: `e${this.edges.length + 1}`, src, dst: id, slot, stage: "primal" };
      made.edges[slot] = edge;
      this.edges.push(edge);
    });
    const edges = made.edges.filter(Boolean).map((edge) => edge.id),
      reads = [...new Set(operands)].filter((o) => o !== null).map((o) => [o, "v"]);
    const words = computedStep(id, expr, expressionOf(op, numbers, params), made.number);
    const write = [id, "v", valueOf(made.number)];
    this.step("primal", id, edges, reads, write, words, { line: span[0] });
  }

  // What the rules of the operands with a history read.
  savedBy({ op, args, id, history }, operands) {
    if (!history) return [];
    const rules = args.map((a, slot) => (isValue(a) && a.history ? declaredRule(op, slot) : null));
    const names = rules.flatMap((rule) =>
      (rule?.[0] ?? []).map((source) => (source < 0 ? id : operands[source])),
    );
    return [...new Set(names)].filter((name) => name !== null);
  }

  pushTangent(made) {
    const { op, args, params, id } = made,
      terms = [],
      contribs = [];
    const moving = args.map((a, slot) => [a, slot]).filter(([a]) => a?.tangent !== undefined);
    const places = args.map((a) => (isValue(a) ? symbolToken(a.id) : a));
    for (const [a, slot] of moving) {
      const rule = declaredRule(op, slot, "push");
      if (!rule) continue;
      const product = runRule(rule, a.tangent, made),
        local = runRule(rule, 1, made);
      made.tangent = made.tangent === undefined ? product : made.tangent + product;
      contribs.push({
        edge: made.edges[slot].id,
        upstream: valueOf(a.tangent),
        product: valueOf(product),
        local: valueOf(local),
      });
      const dot = symbolToken(a.id, "dot", "d");
      const tokens = pushedTokens(op, slot, places, params, symbolToken(id), dot);
      const which = occurrence(made.args, slot);
      terms.push({ source: a.id, local, rule: tokens, tangent: a.tangent, which });
    }
    if (!terms.length) return;
    const known = terms.every(({ rule }) => rule),
      named = known ? valuesIn(terms.flatMap(({ rule }) => rule)) : [id];
    const tangents = [...new Set(moving.map(([a]) => a.id))].map((source) => [source, "d"]);
    const reads = [...named.map((one) => [one, "v"]), ...tangents],
      write = [id, "d", valueOf(made.tangent)];
    const edges = contribs.map(({ edge }) => edge);
    const words = pushedStep(id, terms, made.tangent, makingOf(made));
    this.step("tangent", id, edges, reads, write, words, { contribs });
  }

  // A variable or an operand gives a value up. Without holders it is gone, and what it saved.
  release(value) {
    if (!isValue(value) || --value.holders > 0) return;
    if (value.op) this.dead.push(value.id);
    if (!value.history) return;
    // the last operand first, as Python frees what a tuple holds
    for (const a of [...(value.args ?? [])].reverse()) if (isValue(a) && a.history) this.release(a);
  }

  // -------------------------------------------------------------------------------- reverse mode

  output(value) {
    this.place.arrived();
    this.outputs.push(this.nameOf(value));
    if (value.facts.kind === "op") value.facts.kind = "output";
  }

  reverse(out) {
    const adjoints = new Map([[out, 1]]);
    this.seeds.adjoints = { [out.id]: 1 };
    this.step("seed", out.id, [], [], [out.id, "g", 1], seedStep(out.id, "bar", 1));
    if (!out.history) return;
    for (const made of youngestFirst(out)) {
      made.args.forEach((a, slot) => {
        const rule = isValue(a) && a.history ? declaredRule(made.op, slot) : null;
        if (rule) this.contribute(made, a, slot, rule, adjoints);
      });
      this.free([made.id]);
    }
  }

  contribute(made, target, slot, rule, adjoints) {
    const { id, op, args, params } = made,
      adjoint = adjoints.get(made),
      before = adjoints.get(target);
    const part = runRule(rule, adjoint, made),
      local = runRule(rule, 1, made),
      after = before === undefined ? part : before + part;
    adjoints.set(target, after);
    const edge = made.edges[slot].id;
    const contrib = { edge, upstream: valueOf(adjoint), product: valueOf(part) };
    Object.assign(contrib, { after: valueOf(after), local: valueOf(local) });
    if (before !== undefined) contrib.before = valueOf(before);
    const sources = rule[0].map((s) => (s < 0 ? id : isValue(args[s]) ? args[s].id : null)),
      uses = [...new Set(sources)].filter((one) => one !== null);
    const places = args.map((a) => (isValue(a) ? symbolToken(a.id) : a)),
      bar = symbolToken(id, "bar", "g");
    const words = pulledStep({
      ...{ name: id, adjoint, target: target.id, local, part, before, after },
      ...{ which: occurrence(args, slot), making: makingOf(made) },
      rule: pulledTokens(op, slot, places, params, symbolToken(id), bar),
    });
    const reads = [[id, "g"], ...(before === undefined ? [] : [[target.id, "g"]])];
    reads.push(...uses.map((one) => [one, "v"]));
    const first = this.steps.find((s) => s.phase === "adjoint" && s.node === target.id);
    if (first) {
      first.say = first.say.replace(/( so far)?\.$/, " so far."); // another one follows
      first.partial = true;
    }
    const phase = before === undefined ? "adjoint" : "accumulate",
      write = [target.id, "g", valueOf(after)];
    this.step(phase, target.id, [edge], reads, write, words, { contribs: [contrib], uses });
  }

  document(title, code) {
    this.noteFreed();
    const used = new Set(this.steps.flatMap(({ writes }) => writes.map(([, column]) => column)));
    this.markDangling();
    explain(this);
    return {
      ...{ schema: "minigrad.trace/1", title, source: { code } },
      ...{ inputs: this.inputs, outputs: this.outputs, seed: this.seeds },
      ...{ nodes: this.nodes, edges: this.edges },
      columns: ["v", "d", "g"].filter((key) => used.has(key)).map((key) => COLUMN_FACTS[key]),
      steps: this.steps,
    };
  }

  // Nodes that lead to no output.
  markDangling() {
    const into = new Map(this.nodes.map(({ id }) => [id, []])),
      leading = new Set([...this.outputs, ...this.asked]);
    for (const { src, dst } of this.edges) into.get(dst).push(src);
    for (const node of [...this.nodes].reverse())
      if (leading.has(node.id)) for (const src of into.get(node.id)) leading.add(src);
      else if (node.kind === "op") node.dangling = true;
  }
}

// The operations that lead to a value, each behind those that use it.
function youngestFirst(out) {
  const found = new Set(),
    waiting = [out];
  while (waiting.length) {
    const value = waiting.pop();
    if (found.has(value) || !value.op) continue;
    found.add(value);
    waiting.push(...value.args.filter((a) => isValue(a) && a.history));
  }
  const birth = (value) => Number(value.id.slice(1));
  return [...found].sort((a, b) => birth(b) - birth(a));
}
