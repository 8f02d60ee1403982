// Numbers as text: the same rule as viz/numbers.py, four significant digits, six from 1,000 on.

import constants from "./constants.json" with { type: "json" };

const WORDS = { nan: "NaN", inf: "∞", "-inf": "−∞" };
const NOT_IN_JSON = { nan: NaN, inf: Infinity, "-inf": -Infinity };

// A number of a Trace; NaN for what is none.
export const numberOf = (value) =>
  typeof value === "string" ? NOT_IN_JSON[value] : Number(value ?? NaN);

export function short(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return value ? "True" : "False"; // as Python writes them
  if (typeof value === "string") return WORDS[value] ?? value;
  if (typeof value === "object") return "re" in value ? complex(value) : inline(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const sign = value < 0 ? "−" : "",
    size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return sign + size;
  const [mantissa, power] = size.toExponential(size >= 1000 && size < 1e6 ? 5 : 3).split("e"),
    exponent = Number(power);
  const trim = (s) => (s.includes(".") ? s.replace(/\.?0*$/, "") : s);
  if (exponent < -4 || exponent >= 6)
    return `${sign}${trim(mantissa)}e${exponent < 0 ? "−" : ""}${Math.abs(exponent)}`;
  const digits = mantissa.replace(".", "");
  if (exponent < 0) return sign + trim("0." + "0".repeat(-exponent - 1) + digits);
  return (
    sign +
    trim(digits.slice(0, exponent + 1).padEnd(exponent + 1, "0") + "." + digits.slice(exponent + 1))
  );
}

function complex(value) {
  const im = short(value.im);
  return `${short(value.re)}${im.startsWith("−") ? "" : "+"}${im}i`;
}

// [2, 3] as "(2, 3)", [3] as "(3,)".
export const shapeText = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

function nested(sample, shape) {
  if (!shape.length) return short(sample[0]);
  if (shape.length === 1) return "[" + sample.map(short).join(", ") + "]";
  const stride = shape.slice(1).reduce((a, b) => a * b, 1);
  const rows = Array.from({ length: shape[0] }, (_, i) =>
    nested(sample.slice(i * stride, (i + 1) * stride), shape.slice(1)),
  );
  return "[" + rows.join(", ") + "]";
}

// Arrays of up to constants.whole elements are shown in full everywhere, of constants.listed in a
// line.
function inline(value) {
  const shape = value.shape ?? [],
    sample = value.sample ?? [],
    size = shape.reduce((a, b) => a * b, 1);
  if (size === sample.length && size <= constants.listed)
    return size ? nested(sample, shape) : `[] ${shapeText(shape)}`;
  const { at, sample: told } = value.chosen ?? { at: [0, 1, 2], sample };
  const parts = at.flatMap((i, k) => [...(i > (at[k - 1] ?? -1) + 1 ? ["…"] : []), short(told[k])]);
  return `[${parts.join(", ")}${at.at(-1) < size - 1 ? ", …" : ""}] ${shapeText(shape)}`;
}

// From the least to the largest element; where all are equal [1, …].
export const spread = ({ min, max }) =>
  min === max ? `[${short(min)}, …]` : `${short(min)} … ${short(max)}`;

// Where there is little space: a small array in full, whatever its numbers; a larger one by its
// range.
export function brief(value, most = 18, whole = constants.whole) {
  const text = short(value),
    size = (value?.shape ?? []).reduce((a, b) => a * b, 1);
  if (
    typeof value !== "object" ||
    !value ||
    "re" in value ||
    (size <= whole && size === value.sample?.length)
  )
    return text;
  if ("min" in value && "max" in value) return spread(value);
  return text.length <= most ? text : shapeText(value.shape ?? []);
}

// The least and the largest element of an array, and its norm.
export const factsOf = (value, t) =>
  ["min", "max", "norm"].filter((k) => k in value).map((k) => `${t(k)} ${short(value[k])}`);

export function full(value, t) {
  if (value === null || typeof value !== "object" || "re" in value)
    return typeof value === "number" ? String(value) : short(value);
  const facts = factsOf(value, t),
    size = (value.shape ?? []).reduce((a, b) => a * b, 1),
    sample = value.sample ?? [];
  return (
    `${shapeText(value.shape ?? [])} ${value.dtype ?? ""}: ${sample.map(short).join(", ")}` +
    (size > sample.length ? ", …" : "") +
    (facts.length ? ` (${facts.join(", ")})` : "")
  );
}

// So many values, in words.
export const counted = (n, t) => t(n === 1 ? "value" : "values", { n });
export const bytesText = (n) =>
  n < 10_000 ? `${n} B` : n < 1e7 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
