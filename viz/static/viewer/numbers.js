// Numbers as text: the same rule as viz/numbers.py, four significant digits, six from 1,000 on.

import { inline } from "./array_text.js";

const WORDS = { nan: "NaN", inf: "∞", "-inf": "−∞" };
const NOT_IN_JSON = { nan: NaN, inf: Infinity, "-inf": -Infinity };

// A number of a Trace; NaN for what is none.
export const numberOf = (value) =>
  typeof value === "string" ? NOT_IN_JSON[value] : Number(value ?? NaN);

export function short(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return value ? "True" : "False"; // as Python writes them
  if (typeof value === "string") return WORDS[value] ?? value;
  if (typeof value === "object") return "re" in value ? complex(value) : inline(value, short);
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

// How many digits are as wide as a text: a Chinese letter takes the place of two.
export const digitsIn = (said) => said.replace(/[\u3000-\uffff]/g, "00").length;

// So many values, in words.
export const counted = (n, t) => t(n === 1 ? "value" : "values", { n });
export const bytesText = (n) =>
  n < 10_000 ? `${n} B` : n < 1e7 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;

// Whether a value has NaN or an infinity; text: as it is written.
export const isOdd = (text, value) => /nan|∞|inf/i.test([text, value?.min, value?.max]);
