// Formulas as tokens, by the notation that the operations declare: the rules of
// minigrad/watch/notation.py and derivatives.py.

import { innerFormulas } from "../../static/viewer/nested.js";
import { GRAMMAR, OPERATIONS } from "./rules.js";
import { valueOf } from "./text.js";

const SIGN_OF = {
  "+": "+", "-": "−", "*": "·", "/": "/", neg: "−", "==": "=", "!=": "≠", "<": "<", "<=": "≤",
  ">": ">", ">=": "≥", and: "∧", or: "∨", not: "¬", "&": "&", "|": "|", "^": "xor", "~": "~",
}; // prettier-ignore
const RANKS = [
  ["or"], ["and"], ["not"], ["==", "!=", "<", "<=", ">", ">="], ["|"], ["^"], ["&"], ["+", "-"],
  ["*", "/"], ["neg", "~"],
]; // prettier-ignore
const RANK_OF = Object.fromEntries(RANKS.flatMap((words, rank) => words.map((w) => [w, rank])));
const ASSOCIATIVE = new Set(["+", "*", "and", "or", "&", "|", "^"]);
// The rank of what never needs parentheses, and of a negative number, which needs them as operand.
const ATOM = 99,
  NEGATIVE = -1;
const LONGEST = 40;

export function labelFacts(name) {
  const base = name.replace(/[0-9]+$/, "");
  return [...base].length === 1 && base !== name
    ? { base, sub: name.slice(base.length) }
    : { base: name };
}

export function symbolToken(name, accent, column = "v") {
  const token = { t: "sym", ...labelFacts(name), node: name, col: column };
  return accent ? { ...token, accent } : token;
}

export function numberToken(value, column) {
  const token = { t: "num", value: valueOf(value) };
  return column ? { ...token, col: column } : token;
}

export const opToken = (text) => ({ t: "op", text });

function isNegative(token) {
  const v = token.value;
  return token.t === "num" && (v < 0 || v === "-inf");
}

export const inParentheses = (token) =>
  isNegative(token) ? [opToken("("), token, opToken(")")] : [token];

// made: the expression by which `of` is made.
export function derivativeToken(of, by, which, made) {
  const den = [opToken("∂"), symbolToken(by)];
  const text = which + "\u00a0";
  if (which) den.splice(1, 1, opToken("("), { t: "text", text }, den[1], opToken(")"));
  let num = [opToken("∂"), symbolToken(of)];
  if (made.length && isShort(made)) {
    const [{ t }, ...rest] = made,
      named = t === "fn" && rest.length === 1,
      bare = named || (t === "sqrt" && !rest.length);
    num = [opToken(named ? "∂\u2009" : "∂"), ...(bare ? made : bracketed(made))];
  }
  return { t: "frac", num, den };
}
const bracketed = (tokens) => [opToken("("), ...tokens, opToken(")")];

// Whether an expression has one operation and names of few letters: sin x, v1 · v2, x^2.
const MOST_MADE = 3,
  LETTERS = 6;
const isFlat = (part) =>
  part.length === 1 && isShort(part) && ["sym", "num", "fn"].includes(part[0].t);
function isShort(made) {
  const fits = (token) =>
    [...(token.base ?? "")].length <= LETTERS && innerFormulas(token).every(isFlat);
  return made.length <= MOST_MADE && made.every(fits);
}

// A formula of arithmetic with numbers in the place of its symbols; null for one that names
// functions. cell: the value of a symbol.
export function withNumbers(tokens, cell) {
  const out = [];
  for (const token of tokens) {
    if (token.t === "sym") {
      const value = cell(token);
      if (typeof value !== "number") return null;
      out.push(...inParentheses(numberToken(value, token.col)));
    } else if (innerFormulas(token).length) {
      const inner = {};
      for (const [part, formula] of Object.entries(token))
        if (part !== "t") inner[part] = withNumbers(formula, cell);
      if (Object.values(inner).includes(null)) return null;
      out.push({ t: token.t, ...inner });
    } else if (token.t === "num" || (token.t === "op" && "+−·/()".includes(token.text)))
      out.push(token);
    else return null;
  }
  return out;
}

const rankedToken = (token) => [[token], isNegative(token) ? NEGATIVE : ATOM];
const enclosed = ([tokens, rank], least) =>
  rank >= least ? tokens : [opToken("("), ...tokens, opToken(")")];

// How a value is made, from its operands' tokens; a comparison in parentheses.
export function expressionOf(name, operands, params) {
  const made = applied(name, operands.map(rankedToken), params);
  return made[1] === RANK_OF["<"] ? enclosed(made, ATOM) : made[0];
}

// An operation on operands that may be formulas themselves: tokens, and how closely they hold
// together.
function applied(name, operands, params) {
  const { notation, inputs, symbol = name } = OPERATIONS[name];
  if (notation === undefined) return [called(symbol, operands), ATOM];
  return declared(notation, namedBy(inputs, operands), params);
}

// A notation as tokens. given: what stands for each name.
const declared = (notation, given, params) =>
  rankedTerm(notation, (leaf) => {
    if (given.has(leaf)) return given.get(leaf);
    const value = typeof leaf === "string" ? params[leaf] : leaf;
    return value === undefined ? [[{ t: "fn", text: leaf }], ATOM] : plainNumber(value);
  });

// The condition of a domain. given: the token that stands for each name.
export const conditionTokens = (term, given) =>
  rankedTerm(term, (leaf) =>
    leaf in given ? rankedToken(given[leaf]) : [[numberToken(leaf)], ATOM],
  )[0];

const namedBy = (inputs, operands) => new Map(inputs.map((name, i) => [name, operands[i]]));

const plainNumber = (value) => [[numberToken(value)], value < 0 ? NEGATIVE : ATOM];

// The base of a power: (sin x)^2, since sin x^2 reads as the sine of a square.
const baseOf = ([tokens, rank]) =>
  enclosed([tokens, tokens.length === 2 && tokens[0].t === "fn" ? NEGATIVE : rank], ATOM);

function called(symbol, operands) {
  const inner = operands.flatMap(([tokens], i) => (i ? [opToken(","), ...tokens] : tokens));
  const head = { t: "fn", text: symbol };
  if (inner.length === 1 && inner[0].t === "sym") return [head, ...inner];
  return [head, opToken("("), ...inner, opToken(")")];
}

function rankedTerm(term, leaf) {
  if (!Array.isArray(term)) return leaf(term);
  const [word, ...rest] = term,
    inside = rest.map((part) => rankedTerm(part, leaf));
  if (word === "**")
    return [[{ t: "sup", base: baseOf(inside[0]), exp: inside[1][0] }], ATOM];
  if (word === "sqrt") return [[{ t: "sqrt", of: inside[0][0] }], ATOM];
  const rank = RANK_OF[word];
  if (rank === undefined) return [called(word, inside), ATOM];
  if (inside.length === 1)
    return [[opToken(SIGN_OF[word]), ...enclosed(inside[0], rank + 1)], rank];
  const signed = inside[1][1] === RANK_OF.neg, // a · (−b)
    right = signed ? ATOM : ASSOCIATIVE.has(word) ? rank : rank + 1;
  const sides = [enclosed(inside[0], rank), enclosed(inside[1], right)];
  return [[...sides[0], opToken(SIGN_OF[word]), ...sides[1]], rank];
}

// ------------------------------------------------------------------------------- rules as formulas

// A value of which is known how it is written: `tokens`, or the operation that made it.
class Written {
  constructor(made) {
    Object.assign(this, made);
  }
}

// The operations as functions that write formulas.
export const WRITING = Object.fromEntries(
  Object.entries(OPERATIONS).map(([name, { inputs, forward }]) => [
    name,
    (...given) => {
      const args = given.slice(0, inputs.length),
        params = given[inputs.length] ?? {};
      if (!args.some((a) => a instanceof Written)) return forward(...args, params);
      // Python turns 0 < x into x > 0
      const turned = GRAMMAR.reflected[name];
      return turned && !(args[0] instanceof Written)
        ? new Written({ name: turned, args: [args[1], args[0]], params })
        : new Written({ name, args, params });
    },
  ]),
);

function tokensOf(value) {
  if (!(value instanceof Written)) return rankedToken(numberToken(value));
  if (value.tokens) return [value.tokens, ATOM];
  const { name, args, params } = value;
  const madeBy = (one, ...names) => one instanceof Written && names.includes(one.name);
  const isOne = (a) =>
    a === 1 ||
    (madeBy(a, "mul") && a.args.every(isOne)) ||
    (madeBy(a, "pow") && a.params.n === 0);
  if (name === "mul" && isOne(args[1])) return tokensOf(args[0]);
  if (name === "zeros_like") return [[numberToken(0)], ATOM];
  if (name === "mul" && args[0] === args[1] && args[0] instanceof Written)
    return [[{ t: "sup", base: baseOf(tokensOf(args[0])), exp: [numberToken(2)] }], ATOM];
  if (name === "mul" && madeBy(args[1], "rsqrt")) {
    const root = { t: "sqrt", of: tokensOf(args[1].args[0])[0] };
    return [[...enclosed(tokensOf(args[0]), RANK_OF["/"]), opToken("/"), root], RANK_OF["/"]];
  }
  // numbers have one shape
  if ((name === "pow" && params.n === 1) || name === "broadcast_to" || name === "reshape")
    return tokensOf(args[0]);
  return applied(name, args.map(tokensOf), params);
}

// The symbol of an input as a formula, and the tokens of a formula.
export const written = (name) => new Written({ tokens: [symbolToken(name)], input: name });
written.tokens = (formula) => tokensOf(formula)[0];

const tokenCount = (tokens) =>
  tokens.reduce(
    (sum, token) => sum + 1 + innerFormulas(token).reduce((n, l) => n + tokenCount(l), 0),
    0,
  );

// What an operation sends to operand `index` in the reverse pass, as tokens; null where there is no
// rule that people can read. operands: numbers, or the tokens of values; g: the adjoint's token.
export function pulledTokens(name, index, operands, params, result, g) {
  const { pulls, kind, pulled } = OPERATIONS[name],
    rule = kind === "constant" ? null : pulls?.[index];
  if (!rule) return null;
  if (pulled?.[index]) return ownText(pulled[index], "g", name, operands, params, result, g);
  const inputs = operands.map((o) => (typeof o === "object" ? new Written({ tokens: [o] }) : o));
  const y = new Written({ tokens: [result] });
  const [reads, derivative] = rule,
    read = reads.map((source) => (source < 0 ? y : inputs[source]));
  const found = tokensOf(derivative(WRITING, new Written({ tokens: [g] }), ...read, params))[0];
  return tokenCount(found) <= LONGEST ? found : null;
}

// What an operand's tangent gives to that of the result. Of a product only the operand is replaced.
export function pushedTokens(name, index, operands, params, result, g) {
  const { kind, pushed } = OPERATIONS[name];
  if (kind === "linear" || kind === "bilinear") {
    const tokens = operands.map((o) => (typeof o === "object" ? o : numberToken(o)));
    tokens[index] = g;
    return expressionOf(name, tokens, params);
  }
  if (pushed?.[index]) return ownText(pushed[index], "t", name, operands, params, result, g);
  return kind ? null : pulledTokens(name, index, operands, params, result, g);
}

// A rule as the declaration writes it. incoming: the name of the adjoint or tangent in it.
function ownText(text, incoming, name, operands, params, result, g) {
  const tokens = operands.map((o) => rankedToken(typeof o === "object" ? o : numberToken(o)));
  const given = namedBy(OPERATIONS[name].inputs, tokens);
  given.set("y", [[result], ATOM]).set(incoming, [[g], ATOM]);
  return declared(text, given, params)[0];
}

// The nodes whose values a formula names, in order.
export function valuesIn(tokens) {
  const own = tokens.filter((t) => t.t === "sym" && t.col === "v").map((t) => t.node);
  const inner = tokens.flatMap((token) => innerFormulas(token).flatMap(valuesIn));
  return [...new Set([...own, ...inner])];
}
