// Why a result is NaN or infinite, and from where it comes: as minigrad/watch/not_finite.py says.

import { conditionTokens, numberToken, opToken, symbolToken } from "./notation.js";
import { GRAMMAR, OPERATIONS } from "./rules.js";
import { numberText, textOf } from "./text.js";

const ANSWERS = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  "==": (a, b) => a === b, "!=": (a, b) => a !== b, and: (a, b) => a && b, or: (a, b) => a || b,
  neg: (a) => -a, floor: Math.floor,
}; // prettier-ignore
const isOpen = (term) => typeof term === "string" || Array.isArray(term);

// A condition with numbers in the place of names, and without the parts that these decide.
function folded(term, values) {
  if (!Array.isArray(term)) return values[term] ?? term;
  const [word, ...parts] = term,
    inside = parts.map((part) => folded(part, values)),
    known = inside.filter((part) => !isOpen(part));
  if (known.length === inside.length) return ANSWERS[word](...known);
  if (!known.length || !["and", "or"].includes(word)) return [word, ...inside];
  return known[0] === (word === "and") ? inside.find(isOpen) : known[0];
}

// Of a result that is not finite where the operands are: what says why. symbols: the operands'.
export function madeHere({ op, args, params, number }, operands, symbols) {
  if (Number.isFinite(+number) || !operands.every((a) => Number.isFinite(+a))) return null;
  const { domain, inputs } = OPERATIONS[op],
    named = (list) => Object.fromEntries(inputs.map((name, i) => [name, list[i]])),
    numbers = { ...params };
  if (!domain || folded(domain, { ...params, ...named(operands) })) return {};
  args.forEach((a, i) => typeof a === "number" && (numbers[inputs[i]] = a));
  const term = folded(domain, numbers);
  return { where: isOpen(term) ? conditionTokens(term, named(symbols)) : [] };
}

function reasonOf({ where }, kind, { expr, dtype }) {
  if (where?.length) return { why: "domain", what: expr, where };
  if (where || kind === "nan") return { why: "undefined", what: expr };
  return { why: "large", what: [{ t: "text", text: dtype }] };
}

// Each step whose result is not finite says what made it so, or from where it comes.
export function explain({ steps, nodes, edges, made }) {
  const node = new Map(nodes.map((one) => [one.id, one])),
    ends = new Map(edges.map(({ id, dst }) => [id, node.get(dst)])),
    sources = new Map(edges.map(({ id, src }) => [id, src])),
    noValues = new Set(), // nodes whose value is NaN
    origins = new Map(); // the cell that was first, and its kind
  for (const step of steps) {
    const [[id, column, kind]] = step.writes,
      cell = `${id} ${column}`;
    if (typeof kind !== "string") {
      origins.delete(cell);
      const about = [id, ...step.edges.flatMap((edge) => [sources.get(edge), ends.get(edge).id])],
        of = column === "v" ? undefined : about.find((one) => noValues.has(one));
      if (of) {
        step.despite = of;
        say(step, "despite", { what: [symbolToken(of, undefined, "v")] }, "nan");
      }
      continue;
    }
    if (column === "v" && kind === "nan") noValues.add(id);
    const known = step.reads.map((one) => origins.get(one.join(" "))).filter(Boolean),
      own = column === "v" ? made[id] : null;
    let told = null;
    if (!own && known.length) {
      const origin = known.find((one) => one.kind === kind) ?? known[0],
        accent = { d: "dot", g: "bar" }[origin.column],
        what = [symbolToken(origin.id, accent, origin.column)];
      if (origin.kind !== kind) what.push(opToken("="), numberToken(origin.kind));
      origins.set(cell, origin);
      told = { why: "from", what };
    } else {
      origins.set(cell, { id, column, kind });
      if (column !== "v" && step.edges.length)
        told = { why: "slope", what: ends.get(step.edges[0]).expr };
      else if (own) told = reasonOf(own, kind, node.get(id));
    }
    if (!told) continue;
    step.nonfinite = { ...told, kind };
    say(step, told.why, told, kind);
  }
}

function say(step, why, told, kind) {
  step.say += ` ${GRAMMAR.reasons[why]}`.replace(/{(\w+)}/g, (_, key) =>
    key === "kind" ? numberText(kind) : textOf(told[key]),
  );
}
