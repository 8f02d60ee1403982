// Maps of an array: its last two axes as tables of cells that can be pointed at, and in small.

import { heatMap, letterOf, levelOf } from "../arrays.js";
import { h, s } from "../dom.js";
import { labelOf, plain, symbolRuns } from "../formulas.js";
import { short } from "../numbers.js";
import { elementAt, partAround } from "./meeting.js";

const ROWS_WRITTEN = 12, // rows and columns up to which cells hold numbers
  COLUMNS_WRITTEN = 8,
  LONG_AXIS = 48, // rows and columns of an array that is read, up to which all are shown
  FRAME = 24;

export const samePlace = (a, b) => String(a) === String(b);
export const inBrackets = (v) => (v < 0 || Object.is(v, -0) ? `(${short(v)})` : short(v));
export const ACCENTS = { d: "dot", g: "bar" };
export const symbolText = (node, column) =>
  plain(symbolRuns({ ...labelOf(node), accent: ACCENTS[column] }));

// A table of cells. cells: rows of {value, at}; lit: texts of places that are marked, and with what
// class; most: how many cells may hold their numbers.
export function cellTable(cells, scale, lit = new Map(), label = null, most = Infinity) {
  const wide = Math.max(0, ...cells.map((row) => row.length)),
    few = wide <= COLUMNS_WRITTEN && cells.length <= ROWS_WRITTEN,
    written = few && wide * cells.length <= most;
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

// What is shown of an array that is read in some places: all, or, of a long axis, so many rows or
// columns about the first of these places.
export function frameAbout(array, places) {
  const { from, shape } = partAround(array, places);
  const first = from.map((_, axis) => Math.min(...places.map((at) => at[axis]))),
    cut = { from: [...from], shape: [...shape] };
  for (let axis = Math.max(0, shape.length - 2); axis < shape.length; axis++) {
    if (shape[axis] <= LONG_AXIS) continue;
    const last = Math.max(...places.map((at) => at[axis])),
      space = Math.max(0, FRAME - 1 - (last - first[axis])) >> 1,
      end = from[axis] + shape[axis];
    cut.from[axis] = Math.max(from[axis], Math.min(first[axis] - space, end - FRAME));
    cut.shape[axis] = FRAME;
  }
  return cut;
}

// The last two axes of an array as rows of cells, the others at `leading`. turned: the transpose;
// frame: the part that is shown.
export function sliceOf(array, leading, turned = false, frame = null) {
  const { shape, from } = frame ?? { shape: array.shape, from: array.shape.map(() => 0) },
    many = shape.length > 1,
    [height, width] = many ? shape.slice(-2) : [1, shape[0] ?? 1],
    [top, left] = many ? from.slice(-2) : [0, from[0] ?? 0];
  const at = (i, j) => [...leading, top + i, left + j].slice(many ? 0 : 2 - shape.length);
  const all = Array.from({ length: height }, (_, i) =>
    Array.from({ length: width }, (_, j) => ({
      at: at(i, j),
      value: elementAt(array, at(i, j)),
    })),
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
  const levels = cells.flat().map(({ value }) => letterOf(value, scale));
  const heat = { shape: [cells.length, cells[0].length], scale, levels: levels.join("") };
  const side = Math.min(72, Math.max(34, 5 * Math.max(...heat.shape))); // cells are to be seen
  return s(
    "svg",
    { width: side, height: side, viewBox: `0 0 ${side} ${side}` },
    heatMap(heat, 0, 0, side, side),
  );
}
