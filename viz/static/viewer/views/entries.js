// The arithmetic of one entry: the sum of what meets in it, or, where the other entries of its
// array do not matter, what an elementwise operation, a sum, a mean or a broadcast makes it of; and
// of their derivatives.

import { chooseEntry, placesOf } from "../arrays.js";
import { h } from "../dom.js";
import { readNumber } from "../expressions.js";
import { key } from "../fold.js";
import { plain, ruleOf, runs, symbolRuns } from "../formulas.js";
import { NESTED, innerFormulas } from "../nested.js";
import { short } from "../numbers.js";
import { inBrackets } from "./maps.js";
import {
  arraysOf,
  elementAt,
  elementCount,
  heldOf,
  meetingOf,
  placesOfPart,
} from "./meeting.js";
import { productText } from "./products.js";
import { cutTerms, sumText, sumsAt } from "./sum_text.js";

const TERMS_SEEN = 16; // in a line; more are cut
const MOST_ADDED = 256; // entries of a sum that are looked at

// relative, since a Trace may hold numbers of single precision
const isAbout = (a, b) => Math.abs(a - b) <= 1e-3 * Math.abs(b) + 1e-6;

// The place that an entry is broadcast from; null where the shapes do not fit.
function placeIn(shape, place) {
  const skipped = place.length - shape.length,
    tail = shape.map((size, axis) => (size === 1 ? 0 : place[skipped + axis]));
  return skipped >= 0 && tail.every((i, axis) => i < shape[axis]) ? tail : null;
}
// The shape of an elementwise result.
function broadcastShape(shapes) {
  const rank = Math.max(0, ...shapes.map((one) => one.length));
  return Array.from({ length: rank }, (_, axis) =>
    Math.max(1, ...shapes.map((one) => one[axis - rank + one.length] ?? 1)),
  );
}
const wholeOf = (value) => {
  const held = heldOf(value);
  return held?.elements ? held : null;
};
function valueAt(value, place) {
  const array = wholeOf(value),
    at = array && placeIn(array.shape, place);
  return at ? elementAt(array, at) : undefined;
}

// name(inner, axes …), where that is all of a formula: its parts, else null.
function callOf(tokens) {
  let depth = 0;
  const at = tokens.findIndex((t) => {
      depth += { "(": 1, ")": -1 }[t.text] ?? 0;
      return depth === 1 && t.t === "text";
    }),
    [name, open] = tokens,
    rest = tokens.slice(at);
  if (at < 0 || name.t !== "fn" || open.text !== "(") return null;
  const isEnd = (t, i) => t.t === "text" || t.text === (i + 1 < rest.length ? "," : ")");
  return rest.every(isEnd)
    ? {
        name: name.text,
        inner: tokens.slice(2, at - 1),
        axes: (rest[0].text.match(/\d+/g) ?? []).map(Number),
      }
    : null;
}
const symbolsIn = (tokens) =>
  tokens.flatMap((t) => (t.t === "sym" ? [t] : innerFormulas(t).flatMap(symbolsIn)));

// The formulas whose sum an entry is, each with the place where its symbols are read, and by what
// the sum is divided. Null where a function is not known. shapeOf(tokens): that of their result.
function termsOf(tokens, place, shapeOf) {
  const call = callOf(tokens);
  if (!call) return { terms: [{ tokens, place }], divisor: 1 };
  const { name, inner, axes } = call;
  if (name === "expand") return termsOf(inner, place, shapeOf);
  const without = place.filter((_, axis) => !axes.includes(axis));
  if (name === "unsqueeze") return termsOf(inner, without, shapeOf);
  const shape = shapeOf(inner);
  if (name === "reshape")
    return elementCount(shape) > 1 ? null : termsOf(inner, Array(shape.length).fill(0), shapeOf);
  if (!["sum", "mean"].includes(name) || callOf(inner)) return null;
  const kept = String(place.length === shape.length ? without : place),
    places = placesOfPart({ from: shape.map(() => 0), shape }),
    met = places.filter((one) => String(one.filter((_, axis) => !axes.includes(axis))) === kept);
  return {
    terms: met.map((one) => ({ tokens: inner, place: one })),
    divisor: name === "mean" ? met.length : 1,
  };
}

// A formula with numbers in the place of its symbols; of a function they stand in brackets, and so
// does a negative one behind an operator. first: whether nothing stands before it.
function spelledOut(tokens, numberAt, first) {
  const sign = (text) => ({ t: "op", text });
  return tokens.flatMap((t, i) => {
    if (t.t !== "sym" && t.t !== "num") {
      const inner = (NESTED[t.t] ?? []).map((part) => [
        part,
        spelledOut(t[part], numberAt, part === "exp"),
      ]);
      return [{ ...t, ...Object.fromEntries(inner) }];
    }
    const text = numberAt(t),
      before = tokens[i - 1];
    if (before?.t === "fn") return [sign("("), { t: "text", text }, sign(")")];
    const bare = before ? /^[(,]$/.test(before.text) : first;
    return [{ t: "text", text: /^[-−]/.test(text) && !bare ? `(${text})` : text }];
  });
}

const setApart = (text) => (text.startsWith("−") ? `(${text})` : text);

// What an entry is by the rule of its step, as text; null where that does not give its value.
// trusted(): whether the operation is elementwise, so that a function that is not known here may
// stand there.
// alone: whether nothing is added to it. met: called with each symbol and the place where it is
// read.
function byRule({ rule, place, value, trusted, alone, most }, state, met) {
  const cell = (t) => (t.t === "sym" ? state.get(key(t.node, t.col ?? "v")) : t.value),
    shapeIn = (t) => wholeOf(cell(t))?.shape ?? [],
    shapeOf = (tokens) => broadcastShape(symbolsIn(tokens).map(shapeIn)),
    found = rule.length ? termsOf(rule, place, shapeOf) : null;
  if (!found?.terms.length || found.terms.length > MOST_ADDED) return null;
  let missing = false;
  const written = (asText) =>
    found.terms.map(({ tokens, place: at }, i) => {
      const numberAt = (t) => {
        const number = valueAt(cell(t), at);
        missing ||= number === undefined;
        if (t.t === "sym") met(t, at);
        return asText(cell(t)?.dtype === "bool" ? Boolean(number) : number);
      };
      const first = !i && alone,
        text = plain(runs(spelledOut(tokens, numberAt, first)));
      return first ? text : setApart(text);
    });
  const over = (sum) => (found.divisor === 1 ? sum : `(${sum}) / ${found.divisor}`),
    truth = readNumber(over(written(String).join(" + ").replaceAll("σ", "sigmoid")));
  if (missing || (truth === undefined ? !trusted() : !isAbout(truth, value))) return null;
  const [{ tokens, place: at }] = found.terms;
  if (alone && found.terms.length === 1 && tokens.length === 1 && tokens[0].t === "sym") {
    const index = placeIn(wholeOf(cell(tokens[0])).shape, at);
    return plain(symbolRuns(tokens[0])) + (index.length ? `[${index.join(", ")}]` : "");
  }
  return over(cutTerms(written(short), most).join(" + "));
}

// The sum that an entry is where its node says which elements meet in it; null where it does not,
// or where the Trace does not hold them all.
function bySums(host, step, state, place, met, most) {
  const meeting = meetingIn(host, step);
  if (!meeting) return null;
  const arrays = arraysOf(meeting, state, seenIn(host).operandsOf(meeting.node));
  if (!arrays?.get(meeting.target)[meeting.column]) return null;
  const sums = sumsAt(step, meeting, arrays, place),
    read = sums.flatMap(({ products, plus }) => [...products.flatMap((p) => p.factors), ...plus]);
  if (read.some(({ value }) => value === undefined)) return null;
  for (const { number, column, at } of read)
    met({ node: arrays.get(number).node.id, col: column }, at);
  return sumText(meeting, sums, place, host.t, most);
}

// The computation of an entry of what a step writes: {body, note}, its right side without the
// result, which may be empty, and what is said behind that. Null where the Trace does not hold the
// entries, or where the entry is no such function of others. met: as above; with no symbol, all
// that is read. most: of so many terms, more are cut.
export function entryText(host, step, state, place, met, most = Infinity) {
  const [, column, written] = step.writes[0],
    value = elementAt(heldOf(written), place),
    contribs = step.contribs ?? [],
    [{ before, product, pointwise } = {}] = contribs,
    isAdded = before !== undefined,
    start = isAdded ? `${short(valueAt(before, place))} + ` : "";
  if (value === undefined || (isAdded && contribs.length > 1)) return null;
  const sum = bySums(host, step, state, place, met, most),
    whole = sum && (isAdded ? valueAt(before, place) + sum.total : sum.total),
    isSum = sum && (Object.is(whole, value) || isAbout(whole, value));
  if (isSum && (sum.body || sum.note))
    return { body: start + (sum.body || (isAdded ? "0" : "")), note: sum.note };
  const found = productText(step, state, place, met, most);
  if (found !== null) return { body: start + found, note: "" };
  const pairs = contribs.map(({ local, upstream }) => {
    const pair = [local, upstream].map((one) => valueAt(one, place));
    return column === "g" ? pair.reverse() : pair; // as the formulas are written
  });
  const fits = contribs.every(({ upstream }) => {
    const array = wholeOf(upstream); // no sum over what was broadcast
    return array && array.shape.length <= place.length;
  });
  const total = pairs.reduce((all, [u, v]) => all + u * v, 0),
    part = contribs.length === 1 ? valueAt(product, place) : value,
    byPairs = pairs.length && fits && isAbout(total, part);
  const spelled = ([u, v], i) =>
    `${i || isAdded ? inBrackets(u) : short(u)} · ${inBrackets(v)}`;
  const what = { rule: ruleOf(step), place, value: part, alone: !isAdded, most },
    trusted = () => (contribs.length ? pointwise : seenIn(host).isElementwise(step.node));
  const text = byPairs
    ? pairs.map(spelled).join(" + ")
    : byRule({ ...what, trusted }, state, met);
  if (byPairs) met(null, place);
  const own = text ?? (isSum && isAdded ? inBrackets(sum.total) : null);
  return own === null ? null : { body: start + own, note: "" };
}
export const meetingIn = (host, step) =>
  meetingOf(step, seenIn(host).nodes, seenIn(host).edges);
// Of a Trace, what its entries are computed from.
const seenIn = (host) => (host.seen ??= seenOf(host.trace));
function seenOf({ nodes, edges, steps }) {
  const known = { nodes: new Map(nodes.map((node) => [node.id, node])) },
    sources = new Map(edges.map(({ src, dst, slot }) => [key(dst, slot), src]));
  known.edges = new Map(edges.map((edge) => [edge.id, edge]));
  let elementwise = null;
  return {
    ...known,
    operandsOf: ({ id, terms }) =>
      terms.operands.map((_, slot) => known.nodes.get(sources.get(key(id, slot)))),
    isElementwise(id) {
      elementwise ??= new Set(
        steps
          .flatMap(({ contribs = [] }) => contribs)
          .filter(({ local, pointwise }) => pointwise || local !== undefined)
          .map(({ edge }) => known.edges.get(edge).dst),
      );
      return elementwise.has(id);
    },
  };
}

// Lights what the entry of the written array that the reader is on is computed from, and writes the
// computation out. cards: Map of "node column" -> the element that shows it; at first it is the
// first entry. Returns the line, or null where the Trace does not hold the entries or they are no
// such function of others.
export function lightEntry(host, step, state, cards) {
  const [node, column, written] = step?.writes?.[0] ?? [],
    array = written === undefined ? null : wholeOf(written),
    result = cards.get(`${node} ${column}`),
    cells = [...(result?.querySelectorAll("td") ?? [])];
  if (!array || cells.length !== (array.shape.length ? elementCount(array.shape) : 0)) return null;
  const places = placesOfPart({ from: array.shape.map(() => 0), shape: array.shape }),
    line = h("p", { class: "mg-meet", role: "status" });
  function show(i) {
    for (const card of cards.values())
      for (const cell of card.querySelectorAll(".mg-met")) cell.classList.remove("mg-met");
    const lit = new Set(cells.slice(i, i + 1));
    function light(name, [id, of], at) {
      const shape = wholeOf(state.get(key(id, of)))?.shape ?? [],
        from = placeIn(shape, at),
        flat = from?.reduce((sum, index, axis) => sum * shape[axis] + index, 0);
      const cell = cards.get(name)?.querySelectorAll("td")[flat];
      if (cell && cards.get(name) !== result) lit.add(cell);
    }
    const met = (token, at) => {
      const read = token ? [[token.node, token.col ?? "v"]] : step.reads;
      for (const one of read) light(one.join(" "), one, at);
    };
    const found = entryText(host, step, state, places[i], met, TERMS_SEEN);
    if (found) for (const cell of lit) cell.classList.add("mg-met");
    const place = places[i].length ? `[${places[i].join(", ")}]: ` : "",
      { body, note } = found ?? {};
    const value = short(elementAt(array, places[i]));
    line.textContent = found ? `${place}${body && `${body} = `}${value}${note}` : "";
    // of a single number the formula says all but a sum
    return found && (cells.length > 0 || lit.size > 1);
  }
  if (!places.length || !show(0)) return null;
  const isChosen = (place) => String(place) === String(placesOf(host).get(node)),
    was = places.findIndex(isChosen);
  if (was > 0) show(was);
  cells.forEach((cell, i) => {
    cell.setAttribute("tabindex", "0");
    for (const event of ["pointerenter", "focus", "click"])
      cell.addEventListener(event, () => {
        chooseEntry(host, node, places[i]);
        show(i);
      });
  });
  return line;
}
