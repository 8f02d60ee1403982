// Arithmetic on a Trace's own numbers: sums of what it recorded. Null where an array is known only
// by a summary.

import { numberOf } from "./numbers.js";

export function flat(value) {
  if (["number", "boolean", "string"].includes(typeof value)) return [numberOf(value)];
  if (!value?.sample || value.sample.length !== value.shape.reduce((a, b) => a * b, 1)) return null;
  const parts = value.sample.map(flat);
  return parts.some((p) => p === null) ? null : parts.flat();
}

export function inner(a, b) {
  const [x, y] = [flat(a), flat(b)];
  return x && y && x.length === y.length ? x.reduce((sum, v, i) => sum + v * y[i], 0) : null;
}

// The sum of several values of one shape, in the form of a Trace value.
export function total(values) {
  const parts = values.map(flat);
  if (!parts.length || parts.some((p) => p === null || p.length !== parts[0].length)) return null;
  const sum = parts[0].map((_, i) => parts.reduce((all, p) => all + p[i], 0)),
    like = values.find((v) => typeof v === "object");
  return like ? { shape: like.shape, dtype: like.dtype, sample: sum } : sum[0];
}

export const close = (a, b, tolerance) =>
  a === b ||
  (Number.isNaN(a) && Number.isNaN(b)) ||
  Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a), Math.abs(b));
