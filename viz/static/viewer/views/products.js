// A product of matrices in the rule of a step: which row and which column meet in an element.

import { h } from "../dom.js";
import { ruleOf } from "../formulas.js";
import { short } from "../numbers.js";
import { placesOfPart } from "./meeting.js";

// A factor of a product, as a matrix whose rows are read: the cell it stands for, and whether it is
// transposed. Null for anything but a symbol.
function factor(token) {
  const turned = token?.t === "sup" && token.exp.length === 1 && token.exp[0].text === "T",
    symbol = turned && token.base.length === 1 ? token.base[0] : token;
  return symbol?.t === "sym" ? { node: symbol.node, column: symbol.col ?? "v", turned } : null;
}

// Both factors of the rule of a step, where that is one product; else null.
export function productOf(step) {
  const rule = step ? ruleOf(step) : [];
  if (rule.length !== 3 || rule[1].text !== "@") return null;
  const [left, right] = [factor(rule[0]), factor(rule[2])];
  return left && right ? { left, right } : null;
}

const matrixOf = (state, { node, column }) => {
  const value = state.get(`${node}\u0000${column}`);
  return value?.shape?.length === 2 &&
    value.sample.length === value.shape[0] * value.shape[1] &&
    value.sample.every((v) => v.re === undefined) // real numbers
    ? value
    : null;
};
const at = ({ shape, sample }, i, j) => sample[i * shape[1] + j];

// Calls back with the cell, by its number, that the pointer or the focus is on, at first with the
// one that the reader was on. at: the place of that, of each node; places: those of the cells.
export function onEntries(cells, show, at, node, places) {
  const was = places.findIndex((place) => String(place) === String(at.get(node)));
  if (was > 0) show(was);
  cells.forEach((cell, i) => {
    cell.setAttribute("tabindex", "0");
    for (const event of ["pointerenter", "focus"])
      cell.addEventListener(event, () => {
        at.set(node, places[i]);
        show(i);
      });
  });
}
export function clearMet(cards) {
  for (const card of cards.values())
    for (const cell of card.querySelectorAll(".mg-met")) cell.classList.remove("mg-met");
}

// Lights the row and the column that meet in the element of the written matrix that the reader is
// on, and writes out the sum of their products. cards: Map of "node column" -> the element that
// shows it; places: of each node, the place that the reader is on, the first one at first. Returns
// the line of arithmetic, or null where not every element is at hand.
export function lightProduct(step, state, cards, places) {
  const product = productOf(step),
    [node, column, written] = step?.writes?.[0] ?? [],
    [left, right] = product ? [product.left, product.right].map((f) => matrixOf(state, f)) : [];
  const result = product && cards.get(`${node} ${column}`);
  if (!left || !right || !result?.querySelector("td") || written?.shape?.length !== 2) return null;
  const line = h("p", { class: "mg-meet", role: "status" });
  const cellsOf = ({ node: id, column: key }) => cards.get(`${id} ${key}`);
  const all = placesOfPart({ from: [0, 0], shape: written.shape });
  function show(n) {
    const [i, j] = all[n];
    clearMet(cards);
    const mark = (card, is) =>
      card?.querySelectorAll("td").forEach((cell) => {
        const [row, across] = [cell.parentNode.rowIndex, cell.cellIndex];
        cell.classList.toggle("mg-met", is(row, across));
      });
    const { left: a, right: b } = product;
    mark(cellsOf(a), (row, across) => (a.turned ? across : row) === i);
    mark(cellsOf(b), (row, across) => (b.turned ? row : across) === j);
    mark(result, (row, across) => row === i && across === j);
    const inner = left.shape[a.turned ? 0 : 1],
      terms = Array.from({ length: inner }, (_, k) => [
        a.turned ? at(left, k, i) : at(left, i, k),
        b.turned ? at(right, j, k) : at(right, k, j),
      ]);
    const sign = (v) => (Number(v) < 0 ? `(${short(v)})` : short(v)),
      sum = terms.map(([u, v]) => `${sign(u)} · ${sign(v)}`).join(" + "),
      total = terms.reduce((all, [u, v]) => all + Number(u) * Number(v), 0);
    line.textContent = `[${i}, ${j}]: ${sum} = ${short(total)}`;
  }
  show(0);
  onEntries([...result.querySelectorAll("td")], show, places, node, all);
  return line;
}
