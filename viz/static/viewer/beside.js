// Another Trace beside this one: where the two agree and where they differ.

import { h } from "./dom.js";
import { key } from "./fold.js";
import { digitsIn, short } from "./numbers.js";
import { brief } from "./summaries.js";

// Two values that differ, as texts; of two arrays the first entries that do, behind their index.
// Returns [index, text, text].
export function apart(a, b, text) {
  if (!b?.apart) return ["", text(a), b === null ? "∅" : text(b)];
  const [place, index] = b.apart,
    entry = ({ elements, sample }) => short((elements ?? sample)[place]);
  return [`${index}: `, entry(a), entry(b)];
}

// Of a Trace that stands beside another one: the other's values where they differ, null where it
// has none. shown: those of a state; of a sum that grows what the other has after the same
// contributions.
export function cellsBeside({ beside, steps }) {
  const cells = new Map(), // the values, each with the steps after which it is known
    final = new Map();
  function add([node, column, value, k]) {
    const cell = key(node, column);
    cells.set(cell, [...(cells.get(cell) ?? []), [k ?? final.get(cell), value]]);
  }
  if (beside?.cells.length)
    steps.forEach((step, i) => {
      for (const [node, column] of step.writes ?? []) final.set(key(node, column), i + 1);
    });
  for (const [node, column, value, k] of beside?.sums ?? [])
    add([node, column, value ?? undefined, k]);
  for (const cell of beside?.cells ?? []) add(cell);
  return { shown: (cell, { taken }) => cells.get(cell)?.findLast(([k]) => taken >= k)?.[1] };
}

// Whether what is known of some nodes agrees with the other Trace.
export function markBeside({ classList }, ids, { beside, columns }, theirs, state) {
  const cells = ids.flatMap((id) => columns.map((c) => key(id, c.key))),
    known = cells.filter((one) => state.has(one)),
    differs = known.some((one) => theirs.shown(one, state) !== undefined),
    side = ids.every((id) => id in beside.only) ? beside.only[ids[0]] : null;
  classList.toggle("mg-unlike", differs);
  classList.toggle("mg-agrees", known.length > 0 && !differs && side === null);
  classList.toggle("mg-only-first", side === 0);
  classList.toggle("mg-only-second", side === 1);
}

// What the marks of two Traces mean, and whose is which of two values.
export function marksBeside({ cells, sums, only, names: [a, b] }, t) {
  const sides = new Set(Object.values(only));
  return [
    (cells.length > 0 || sums?.length > 0) && `${a} ≠ ${b}`,
    sides.has(0) && t("pairOnly", { name: a }),
    sides.has(1) && t("pairOnlySecond", { name: b }),
  ]
    .filter(Boolean)
    .join(" · ");
}
// Below the graph on the stage, where nodes are marked; below that stand the names of two values.
export const legendBeside = ({ beside }, t) =>
  Object.keys(beside?.only ?? {}).length > 0 &&
  h("p", { class: "mg-whose" }, marksBeside(beside, t));

// Two values that differ, in one row of a card or a narrow cell; text: of one, in one cell of the
// table, with how many entries do.
export function unlikeText(value, other, t, text) {
  const [at, own, theirs] = apart(value, other, text || ((one) => brief(one, t))),
    all = text && other?.apart && other.shape.reduce((a, b) => a * b, 1),
    count = all ? ` (${t("pairCount", { n: other.apart[2], all })})` : "";
  return `${at}${own} ≠ ${theirs}${count}`;
}

// The letters that such a cell takes, for each column's width.
export function widenBeside(widest, { beside, steps }, text, t) {
  for (const [id, column, other, k] of [...(beside?.cells ?? []), ...(beside?.sums ?? [])]) {
    const written = ([node, key]) => node === id && key === column,
      of = k ? steps[k - 1] : steps.findLast((step) => step.writes?.some(written)),
      own = of.writes.find(written)[2],
      wide = digitsIn(unlikeText(own, other, t, text));
    widest.set(column, Math.max(widest.get(column), wide));
  }
}

// Where another Trace parts from this one: marked once its step is done. untold: until then the
// difference would be the answer of a question.
export function markDifference(root, graph, differs, at, untold) {
  if (!differs) return;
  const { node, column, step, tell } = differs,
    done = at > step;
  tell(done || !untold);
  for (const e of root.querySelectorAll(".mg-differs")) e.classList.remove("mg-differs");
  if (!done || !node) return;
  graph?.cards().get(graph.stands(node))?.group.classList.add("mg-differs");
  const row = `tr[data-node="${CSS.escape(node)}"]`;
  root.querySelector(`${row} td[data-col="${CSS.escape(column ?? "v")}"]`)
    ?.classList.add("mg-differs");
}
