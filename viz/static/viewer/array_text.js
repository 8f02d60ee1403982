// Arrays and their shapes as text.

import constants from "./constants.json" with { type: "json" };

// [2, 3] as "(2, 3)", [3] as "(3,)".
export const shapeText = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

function nested(sample, shape, short) {
  if (!shape.length) return short(sample[0]);
  if (shape.length === 1) return "[" + sample.map(short).join(", ") + "]";
  const stride = shape.slice(1).reduce((a, b) => a * b, 1);
  const rows = Array.from({ length: shape[0] }, (_, i) =>
    nested(sample.slice(i * stride, (i + 1) * stride), shape.slice(1), short),
  );
  return "[" + rows.join(", ") + "]";
}

// In a line: of up to constants.listed elements in full. short: a number as text.
export function inline(value, short) {
  const shape = value.shape ?? [],
    sample = value.sample ?? [],
    size = shape.reduce((a, b) => a * b, 1);
  if (size === sample.length && size <= constants.listed)
    return size ? nested(sample, shape, short) : `[] ${shapeText(shape)}`;
  const { at, sample: told } = value.chosen ?? { at: [0, 1, 2], sample };
  const parts = at.flatMap((i, k) => [...(i > (at[k - 1] ?? -1) + 1 ? ["…"] : []), short(told[k])]);
  return `[${parts.join(", ")}${at.at(-1) < size - 1 ? ", …" : ""}] ${shapeText(shape)}`;
}
