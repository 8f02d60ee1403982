// Arrays in a card: a line, a grid of all elements, or a summary with a heat map. The same rules as
// viz/layout/measure.py and viz/numbers.py.

import constants from "./constants.json" with { type: "json" };
import { s } from "./dom.js";
import { key, nodesOf } from "./fold.js";
import { numberOf, short } from "./numbers.js";
import { brief, spread } from "./summaries.js";

export const { row: ROW, line: LINE, heat: HEAT } = constants.card;
export const LEVELS = "0123456789abcdefg";
const product = (shape) => (shape ?? []).reduce((a, b) => a * b, 1);

export function kindOf(shape) {
  const size = product(shape);
  if (size <= 1 || (shape.length === 1 && size <= 4)) return "line";
  return shape.length === 2 && Math.max(...shape) <= 4 ? "grid" : "heat";
}

export function rowHeight(shape) {
  const kind = kindOf(shape ?? []);
  return kind === "line" ? ROW : kind === "grid" ? shape[0] * LINE + 5 : ROW + HEAT;
}

// A small matrix as one line for each row, its columns aligned.
function grid({ shape, sample }) {
  const cells = sample.map(short),
    lines = [];
  const wide = Array.from({ length: shape[1] }, (_, j) =>
    Math.max(...cells.filter((_, i) => i % shape[1] === j).map((c) => c.length)),
  );
  for (let i = 0; i < cells.length; i += shape[1])
    lines.push(
      cells
        .slice(i, i + shape[1])
        .map((cell, j) => cell.padStart(wide[j], "\u00a0"))
        .join("\u00a0\u00a0"),
    );
  return lines;
}

export function linesOf(value, shape, t) {
  const fits =
    kindOf(shape ?? []) === "grid" &&
    typeof value === "object" &&
    String(value?.shape) === String(shape);
  if (fits) return grid(value);
  // the box of a group has no shape, and no space for elements
  const ranged = kindOf(shape ?? []) === "heat" || !shape?.length;
  return [ranged && value?.sample && "min" in value ? spread(value, t) : brief(value, t)];
}

// The range of an array of which `text` names it alone; null for any other value.
export function rangeIn(text, value, t) {
  const [low, high] = [value?.min, value?.max].map(short);
  return text === t("range", { low, high }) ? t("colon") + text : null;
}
// The words of arrays that a Trace's page uses, as in bar.js.
export const wordsOfArrays = ({ nodes, edges }) => [
  ["fn_broadcast", edges.some(({ broadcast }) => broadcast)],
  ["word_range", nodes.some(({ shape }) => shape?.length)],
];

// The level of a colour in a heat map, and the letter that stands for it.
export const levelOf = (value, scale) =>
  Number.isNaN(value)
    ? "n"
    : 8 + Math.floor(8 * (scale ? Math.max(-1, Math.min(1, value / scale)) : 0) + 0.5);
export const letterOf = (value, scale) => LEVELS[levelOf(value, scale)] ?? "n";
export const scaleOf = (values) => Math.max(0, ...values.filter(Number.isFinite).map(Math.abs));

// The heat map of an array: as the Trace has it, or made of the elements where it holds them all.
export function heatOf(value) {
  if (typeof value !== "object" || !value?.sample) return null;
  if (value.heat) return value.heat;
  const { sample, shape } = value;
  if (
    !sample.length ||
    sample.length !== product(shape) ||
    sample.some((v) => typeof v === "object")
  )
    return null;
  const numbers = sample.map(numberOf),
    scale = scaleOf(numbers);
  return {
    shape: shape.length > 1 ? [sample.length / shape.at(-1), shape.at(-1)] : [1, sample.length],
    scale,
    levels: numbers.map((v) => letterOf(v, scale)).join(""),
  };
}

const isOn = ({ clientX: x, clientY: y }, { left, right, top, bottom }) =>
  left <= x && x < right && top <= y && y < bottom;
// The number of the entry of an array that a click is on: of those that are written out, or of a
// heat map of all. -1 for none.
function entryAt(event, value) {
  const map = event.target.closest(".mg-heat")?.firstChild.getBoundingClientRect(),
    box = event.target.closest("text, td"),
    words = [];
  if (map) {
    const [rows, wide] = heatOf(value).shape,
      row = Math.floor((rows * (event.clientY - map.top)) / map.height),
      across = Math.floor((wide * (event.clientX - map.left)) / map.width),
      isWhole = rows * wide === product(value.shape);
    return isWhole && isOn(event, map) ? row * wide + across : -1;
  }
  const texts = box && document.createTreeWalker(box, NodeFilter.SHOW_TEXT),
    range = document.createRange();
  while (texts?.nextNode())
    for (const { 0: text, index } of texts.currentNode.data.matchAll(/[^\s,[\]]+/g)) {
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + text.length);
      words.push([text, isOn(event, range.getBoundingClientRect())]);
    }
  const isWritten = String(words.map(([text]) => text)) === String(value.sample.map(short));
  return isWritten ? words.findIndex(([, on]) => on) : -1;
}
// The place of an entry, by its number in the order in which a Trace holds them.
export function placeAt(shape, n) {
  const place = [];
  for (const size of shape.toReversed()) {
    place.unshift(n % size);
    n = Math.floor(n / size);
  }
  return place;
}
// Of each node, the place in its arrays that the reader is on.
export const placesOf = (host) => (host.entries ??= new Map());
export function chooseEntry(host, id, place) {
  placesOf(host).set(id, place);
  host.entryChosen?.();
}
// Whether a click is on an array; if it is on an entry, the reader is on that from now on.
export function pickEntry(host, id, column, event) {
  const cell = key(id, column),
    value = host.stateAt(host.at()).get(cell) ?? host.stateAt(host.trace.steps.length).get(cell);
  const entry = value?.sample?.length ? entryAt(event, value) : -1;
  if (entry >= 0) placesOf(host).set(id, placeAt(value.shape, entry));
  return nodesOf(host.trace).get(id).shape?.length > 0;
}

// Cells as one path for each level. Cells of negative numbers are smaller squares, so that the sign
// shows without colour.
export function heatMap(heat, x, y, width, height) {
  const [rows, columns] = heat.shape,
    tall = Math.min(height / rows, 18),
    wide = Math.min(width / columns, 18, 4 * tall),
    paths = new Map();
  const f = (v) => Math.round(v * 100) / 100;
  Array.from(heat.levels).forEach((level, i) => {
    const number = LEVELS.indexOf(level),
      inset = number >= 0 && number < 8 ? 0.18 : 0.03;
    const left = x + (i % columns) * wide + inset * wide,
      top = y + Math.floor(i / columns) * tall + inset * tall;
    const w = wide * (1 - 2 * inset),
      t = tall * (1 - 2 * inset);
    paths.set(
      number,
      (paths.get(number) ?? "") + `M${f(left)} ${f(top)}h${f(w)}v${f(t)}h${f(-w)}z`,
    );
  });
  return s(
    "g",
    { class: "mg-heat", "aria-hidden": "true" },
    s("rect", { x, y, width: f(wide * columns), height: f(tall * rows), class: "mg-heat-ground" }),
    [...paths].map(([number, d]) => s("path", { d, class: `mg-h${number < 0 ? "n" : number}` })),
  );
}
