// Which elements meet in an element of a product, a convolution or a pooling: the loop that a node
// declares (`terms`), run for one element of the result, or of an operand that receives a share.

import { key } from "../fold.js";
import { numberOf } from "../numbers.js";

export const elementCount = (shape) => shape.reduce((a, b) => a * b, 1);

// What the Trace holds of a value: all elements, or parts of a large array. Null for neither.
export function heldOf(value) {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return { shape: [], elements: [Number(value)] };
  const elements = value.elements ?? value.sample ?? [],
    { shape, parts } = value;
  if (!shape || elements.some((v) => v.re !== undefined)) return null; // complex numbers
  if (elements.length === elementCount(shape)) return { shape, elements: elements.map(numberOf) };
  if (!parts) return null;
  return { shape, parts: parts.map((one) => ({ ...one, elements: one.elements.map(numberOf) })) };
}

const flatIndex = (shape, at) => at.reduce((sum, i, axis) => sum * shape[axis] + i, 0);
// The part of an array that holds all of some places; of a whole array the array.
export function partAround(array, places) {
  if (array.elements) return { ...array, from: array.shape.map(() => 0) };
  const holds = ({ from, shape }) =>
    places.every((at) => at.every((i, axis) => i >= from[axis] && i < from[axis] + shape[axis]));
  return array.parts.find(holds) ?? null;
}
// The places of such a part, row by row.
export const placesOfPart = ({ from, shape }) =>
  from.reduce(
    (found, first, axis) =>
      found.flatMap((at) => Array.from({ length: shape[axis] }, (_, i) => [...at, first + i])),
    [[]],
  );
// An element; undefined where the Trace does not hold it.
export function elementAt(array, at) {
  if (array.elements) return array.elements[flatIndex(array.shape, at)];
  const part = partAround(array, [at]),
    inside = part && at.map((i, axis) => i - part.from[axis]);
  return part?.elements[flatIndex(part.shape, inside)];
}
// All elements that the Trace holds.
export const elementsOf = (array) =>
  array.elements ?? array.parts.flatMap(({ elements }) => elements);

const indexAt = (index, point) =>
  index.map(([offset, ...variables]) => variables.reduce((i, [v, f]) => i + f * point[v], offset));
const isInside = (at, shape) => at.every((i, axis) => i >= 0 && i < shape[axis]);

// The points of a loop at which an array is met at one place. fixed: variables that stay at 0.
function pointsAt(sizes, index, place, fixed) {
  const found = [],
    point = sizes.map(() => 0);
  const last = index.map(([, ...variables]) => Math.max(-1, ...variables.map(([v]) => v)));
  const fits = (v) =>
    index.every((_, axis) => last[axis] !== v || indexAt([index[axis]], point)[0] === place[axis]);
  // the last variable of an index has one value that fits
  function valuesAt(v) {
    const axis = fixed.has(v) ? -1 : last.indexOf(v);
    if (axis < 0) return [0, fixed.has(v) ? 1 : sizes[v]];
    point[v] = 0;
    const factor = index[axis].slice(1).find(([u]) => u === v)[1],
      value = (place[axis] - indexAt([index[axis]], point)[0]) / factor;
    return Number.isInteger(value) && value >= 0 ? [value, Math.min(sizes[v], value + 1)] : [0, 0];
  }
  function visit(v) {
    if (v === sizes.length) return found.push([...point]);
    const [first, end] = valuesAt(v);
    for (point[v] = first; point[v] < end; point[v]++) if (fits(v)) visit(v + 1);
  }
  if (fits(-1)) visit(0);
  return found;
}

// What a step does with the terms of an operation: `target`, the array that it writes (-1 for the
// result, else the number of the operand), and `sums`, in each of which every array is read in one
// column (null: not at all). Null for any other step.
export function meetingOf(step, byId, edges) {
  const made = byId.get(step?.node),
    edge = edges.get(step?.edges?.[0]),
    phase = step?.phase;
  if (!step) return null;
  const plain = (terms) => terms.operands.map(() => "v");
  if (phase === "primal" && made.terms)
    return {
      node: made,
      target: -1,
      column: "v",
      sums: [{ result: null, read: plain(made.terms) }],
    };
  if (phase === "tangent" && made.terms) {
    const added = new Set(made.terms.added);
    const sums = step.edges.map((id) => {
      const { slot } = edges.get(id);
      // what is added is no factor, and has none
      const column = (i) => (i === slot ? "d" : added.has(slot) || added.has(i) ? null : "v");
      return { result: null, read: made.terms.operands.map((_, i) => column(i)) };
    });
    return { node: made, target: -1, column: "d", sums };
  }
  const sender = edge && byId.get(edge.dst);
  if (!["adjoint", "accumulate"].includes(phase) || !sender?.terms) return null;
  const read = plain(sender.terms).map((c, slot) => (slot === edge.slot ? null : c));
  return { node: sender, target: edge.slot, column: "g", sums: [{ result: "g", read }] };
}

// The arrays of a meeting: for the result (number -1) and each operand the node and, of each
// column, its elements. Null where the Trace does not hold one that is read.
export function arraysOf(meeting, state, operands) {
  const found = new Map();
  for (const [number, node] of [[-1, meeting.node], ...operands.map((o, i) => [i, o])]) {
    if (!node) return null;
    const columns = {};
    for (const column of ["v", "d", "g"])
      columns[column] = heldOf(state.get(key(node.id, column)));
    found.set(number, { node, ...columns });
  }
  const chooses = meeting.node.terms.combine === "largest" ? [found.get(0).v] : [];
  const needed = meeting.sums.flatMap(({ result, read }) => [
    ...chooses,
    ...(result ? [found.get(-1)[result]] : []),
    ...read.flatMap((column, i) => (column ? [found.get(i)[column]] : [])),
  ]);
  return needed.every(Boolean) ? found : null;
}

// Of a pooling: the point whose element won, the first of the largest.
function winner(terms, arrays, place) {
  const { v } = arrays.get(0),
    [index] = terms.operands;
  let best = null;
  for (const point of pointsAt(terms.sizes, terms.result, place, new Set())) {
    const at = indexAt(index, point);
    if (!isInside(at, v.shape)) continue;
    const value = elementAt(v, at);
    if (best === null || value > best.value || (Number.isNaN(value) && !Number.isNaN(best.value)))
      best = { at, value };
  }
  return best;
}

// By what an element of the result is divided: the sum of a window, for its mean.
export const divisorAt = ({ divisors = [] }, at) =>
  divisors.reduce((product, along, axis) => product * along[at[axis] % along.length], 1);

// What meets in one element. Each sum: products, each with its factors ({number, column, at,
// value}; number -1 is the result), the point of the loop and what it is divided by; outside: how
// many lie in the padding; plus: elements that are added; total.
export function meetAt(meeting, arrays, place) {
  const { terms } = meeting.node,
    { target } = meeting,
    added = new Set(terms.added),
    index = target < 0 ? terms.result : terms.operands[target];
  const inResult = new Set(terms.result.flatMap(([, ...vs]) => vs.map(([v]) => v)));
  const others = terms.sizes.map((_, v) => v).filter((v) => !inResult.has(v));
  const fixed = new Set(added.has(target) ? others : []);
  const points = pointsAt(terms.sizes, index, place, fixed);
  const read = (number, column, at) => {
    const array = arrays.get(number)[column];
    return isInside(at, array.shape) ? { number, column, at, value: elementAt(array, at) } : null;
  };
  return meeting.sums.map(({ result, read: columns }) => {
    const products = [];
    let outside = 0;
    for (const point of points) {
      const wanted = terms.operands.flatMap((one, i) =>
        columns[i] && !added.has(i) && !added.has(target)
          ? [[i, columns[i], indexAt(one, point)]]
          : [],
      );
      if (result) wanted.unshift([-1, result, indexAt(terms.result, point)]);
      if (!wanted.length) continue;
      const factors = wanted.map((one) => read(...one));
      if (factors.includes(null)) outside++;
      else {
        const divisor = divisorAt(terms, indexAt(terms.result, point)),
          value = factors.reduce((p, f) => p * f.value, 1) / divisor;
        products.push({ point, factors, divisor, value });
      }
    }
    const plus = [...added]
      .filter((i) => target < 0 && columns[i] === meeting.column)
      .map((i) => read(i, columns[i], indexAt(terms.operands[i], points[0] ?? [])));
    if (terms.combine === "largest") return chosenOf(meeting, arrays, place, { products, outside });
    const total = [...products, ...plus].reduce((sum, one) => sum + one.value, 0);
    return { products, outside, plus, total };
  });
}

// Of a pooling forward: the largest of what it reads, or its tangent; backward: the shares of the
// windows that chose this element.
function chosenOf(meeting, arrays, place, { products, outside }) {
  const { terms } = meeting.node,
    same = (a, b) => String(a) === String(b);
  if (meeting.target < 0) {
    const best = winner(terms, arrays, place);
    for (const one of products) one.chosen = same(one.factors[0].at, best?.at);
    const total = products.find((one) => one.chosen)?.value ?? -Infinity;
    return { products, outside, plus: [], total };
  }
  for (const one of products) {
    one.chosen = same(winner(terms, arrays, one.factors[0].at)?.at, place);
    if (!one.chosen) one.value = 0;
  }
  return { products, outside, plus: [], total: products.reduce((s, one) => s + one.value, 0) };
}
