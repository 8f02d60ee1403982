// What the training view's pictures share: numbers as text, ticks, colours, packed matrices.

import { h } from "../../static/viewer/dom.js";

// with the colours, so that hue never stands alone
export const DASHES = ["", "8 4", "2 4", "10 4 2 4", "4 4"];

const UNFINITE = { nan: NaN, inf: Infinity, "-inf": -Infinity };
// A number that JavaScript has written, with minus signs and no plus, as in −1e−9 and 2e5.
export const signed = (written) => written.replaceAll("-", "−").replace("+", "");
export const num = (v) => (typeof v === "string" ? UNFINITE[v] : v);
export const text = (v) => {
  const x = num(v);
  if (x === undefined || x === null) return "";
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞";
  // a count, such as the number of an epoch, is never rounded
  if (Number.isInteger(x) && Math.abs(x) < 1e6) return signed(String(x));
  const shown =
    x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5)
      ? Number(x.toPrecision(3)).toExponential()
      : String(Number(x.toPrecision(4)));
  return signed(shown);
};

/** A matrix of 127ths of its scale, as rows of numbers. */
export function matrixOf({ shape, scale, cells }) {
  const bytes = Int8Array.from(atob(cells), (c) => c.charCodeAt(0));
  return Array.from({ length: shape[0] }, (_, r) =>
    Array.from(bytes.subarray(r * shape[1], (r + 1) * shape[1]), (v) => (v * scale) / 127),
  );
}

const STEPS = 5; // between the ticks of an axis, at most

export function ticks(low, high, log) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [];
  if (low === high) return [low];
  if (log) {
    const inside = (digits) => {
      const out = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += 1)
        out.push(...digits.map((k) => Number(`${k}e${e}`)));
      return out.filter((v) => v >= low && v <= high);
    };
    const found =
      [[1], [1, 3], [1, 2, 5]].map(inside).find((some) => some.length >= 3) ??
      inside([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const apart = Math.ceil(found.length / (STEPS + 1));
    return found.filter((_, i) => i % apart === 0);
  }
  const raw = (high - low) / STEPS,
    base = 10 ** Math.floor(Math.log10(raw)),
    step = [1, 2, 5, 10].map((k) => k * base).find((v) => v >= raw);
  const out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step)
    out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

export function rgb(element, name) {
  const probe = h("span", { hidden: true });
  // else a page of forced colours would paint all classes alike
  probe.style.forcedColorAdjust = "none";
  probe.style.color = `var(${name})`;
  element.append(probe);
  const found = getComputedStyle(probe)
    .color.match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);
  probe.remove();
  return found;
}
