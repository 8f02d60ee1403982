// Maps of an array: its last two axes as tables of cells that can be pointed at, and in small.

import { heatMap, LEVELS } from "../arrays.js";
import { h, s } from "../dom.js";
import { labelOf, plain, symbolRuns } from "../formulas.js";
import { short } from "../numbers.js";

const ROWS_WRITTEN = 12, // rows and columns up to which cells hold numbers
  COLUMNS_WRITTEN = 8;

export const samePlace = (a, b) => String(a) === String(b);
export const inBrackets = (v) => (v < 0 || Object.is(v, -0) ? `(${short(v)})` : short(v));
const ACCENTS = { d: "dot", g: "bar" };
export const symbolText = (node, column) =>
  plain(symbolRuns({ ...labelOf(node), accent: ACCENTS[column] }));

// The level of a colour, as in heat maps.
export const levelOf = (value, scale) =>
  Number.isNaN(value)
    ? "n"
    : 8 + Math.floor(8 * (scale ? Math.max(-1, Math.min(1, value / scale)) : 0) + 0.5);
export const scaleOf = (values) => Math.max(0, ...values.filter(Number.isFinite).map(Math.abs));

// A table of cells. cells: rows of {value, at}; lit: texts of places that are marked, and with what
// class.
export function cellTable(cells, scale, lit = new Map(), label = null) {
  const wide = Math.max(0, ...cells.map((row) => row.length)),
    written = wide <= COLUMNS_WRITTEN && cells.length <= ROWS_WRITTEN;
  return h(
    "table",
    { class: `mg-cells ${written ? "mg-elements" : "mg-pixels"}`, "aria-label": label },
    h(
      "tbody",
      null,
      cells.map((row) =>
        h(
          "tr",
          null,
          row.map((cell) => {
            if (!cell) return h("td", { class: "mg-empty" });
            const low = cell.value < 0 ? " mg-below" : "",
              mark = lit.get(String(cell.at)) ?? "";
            return h(
              "td",
              {
                class: `mg-cell mg-h${levelOf(cell.value, scale)}${low} ${mark}`,
                "data-at": cell.at,
                title: written ? null : short(cell.value),
              },
              written ? short(cell.value) : null,
            );
          }),
        ),
      ),
    ),
  );
}

// The last two axes of an array as rows of cells, the others at `leading`. turned: the transpose.
export function sliceOf(array, leading, turned = false) {
  const [rows, wide] = array.shape.length > 1 ? array.shape.slice(-2) : [1, array.shape[0] ?? 1];
  const at = (i, j) =>
    [...leading, i, j].slice(array.shape.length > 1 ? 0 : 2 - array.shape.length);
  const all = Array.from({ length: rows }, (_, i) =>
    Array.from({ length: wide }, (_, j) => ({ at: at(i, j), value: elementAt(array, at(i, j)) })),
  );
  return turned ? all[0].map((_, j) => all.map((row) => row[j])) : all;
}
export const leadingOf = (at) => at.slice(0, -2);
export function leadingPlaces(shape) {
  let found = [[]];
  for (const size of shape.slice(0, -2))
    found = found.flatMap((one) => Array.from({ length: size }, (_, i) => [...one, i]));
  return found;
}

// A map in small.
export function thumb(cells, scale) {
  const levels = cells.flat().map(({ value }) => {
    const level = levelOf(value, scale);
    return level === "n" ? "n" : LEVELS[level];
  });
  const heat = { shape: [cells.length, cells[0].length], scale, levels: levels.join("") };
  return s("svg", { width: 34, height: 34, viewBox: "0 0 34 34" }, heatMap(heat, 0, 0, 34, 34));
}
