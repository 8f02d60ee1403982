// What predict mode asks where there are arrays, and a shape as people type it.

import { kindOf, placeAt } from "../arrays.js";
import constants from "../constants.json" with { type: "json" };
import { ordinary } from "../expressions.js";

const WRITTEN_OUT = 16; // elements of an array up to which a Trace holds them all

// shapes: those of what the step reads.
export function askedOfArray({ phase, writes }, k, shapes) {
  const value = writes[0][2],
    shape = value.shape ?? [],
    arrays = shapes.filter((one) => one.length),
    told = arrays.length > 0 && arrays.every((one) => `${one}` === `${shape}`),
    ofShape = phase === "primal" && !told ? { kind: "shape", value: shape } : null,
    sizeOf = (one) => one.reduce((a, b) => a * b, 1),
    known = shapes.every((one) => sizeOf(one) <= WRITTEN_OUT);
  // of a large sum: that it is one number
  if (typeof value !== "object") return known ? { kind: "number", value } : ofShape;
  if (!value.shape) return null; // a complex number
  const whole = known && sizeOf(shape) <= value.sample.length;
  if (ofShape || !whole || !/number|string/.test(typeof value.sample[0])) return ofShape;
  const at = (7 * k + 3) % value.sample.length;
  return { kind: "element", value: value.sample[at], index: placeAt(shape, at), at };
}

// The question of the stage before a step, as it is for an array: one element where all are written
// on the screen afterwards, else the shape. question: {left, the tokens before its "?"; words;
// node, its name}; shapeOf(id): a node's shape.
export function ofArray(question, step, k, shapeOf, t) {
  const value = step.writes?.[0]?.[2],
    { left, node } = question,
    say = (text) => ({ t: "text", text });
  if (!value?.shape?.length) return question;
  const { index } = askedOfArray(step, k, (step.reads ?? []).map(([id]) => shapeOf(id))) ?? {},
    place = index && `[${index.join(", ")}]`;
  if (index && (kindOf(value.shape) !== "heat" || value.sample.length <= constants.listed))
    return { ...question, left: [left[0], say(place), left[1]], node: node + place };
  const name = say(t("shapeOf").replace(/ $/, "\u00a0"));
  return { node, left: [name, left[0], { t: "op", text: "=" }], words: "askShape" };
}

// A shape as people type it: (3, 2), 3x2, [3,2], 3; () for a single number. Undefined for anything
// else.
export function readShape(text) {
  const plain = ordinary(text)
    .trim()
    .replace(/^[([]|[)\]]$/g, "")
    .replace(/[x×*,;]+\s*$/, "")
    .trim();
  if (!plain) return text.trim() ? [] : undefined;
  const sizes = plain.split(/\s*[x×*,;]\s*|\s+/);
  return sizes.every((size) => /^\d+$/.test(size)) ? sizes.map(Number) : undefined;
}
