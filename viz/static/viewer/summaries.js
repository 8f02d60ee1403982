// Values as text where there is little space, and with all that is known of them.

import { shapeText } from "./array_text.js";
import constants from "./constants.json" with { type: "json" };
import { short } from "./numbers.js";

// From the least to the largest element; where all are written alike that one.
export function spread({ min, max }, t) {
  const [low, high] = [short(min), short(max)];
  return low === high ? t("allOf", { value: low }) : t("range", { low, high });
}
// As a factor: of an array of one number this alone.
export const factorText = (value, t) =>
  brief(value, (name, all) => all.value ?? t(name, all), 12, 1);

// Where there is little space: an array of up to constants.whole elements in full, whatever its
// numbers; a larger one by its range.
export function brief(value, t, most = 18, whole = constants.whole) {
  const text = short(value),
    size = (value?.shape ?? []).reduce((a, b) => a * b, 1);
  if (
    typeof value !== "object" ||
    !value ||
    "re" in value ||
    (size <= whole && size === value.sample?.length)
  )
    return text;
  if ("min" in value && "max" in value) return spread(value, t);
  return text.length <= most ? text : shapeText(value.shape ?? []);
}

// The least and the largest element of an array, and its norm.
export const factsOf = (value, t) =>
  ["min", "max", "norm"].filter((k) => k in value).map((k) => `${t(k)} ${short(value[k])}`);

export function full(value, t) {
  if (value === null || typeof value !== "object" || "re" in value)
    return typeof value === "number" ? String(value).replaceAll("-", "−") : short(value);
  const facts = factsOf(value, t),
    size = (value.shape ?? []).reduce((a, b) => a * b, 1),
    sample = value.sample ?? [];
  return (
    `${shapeText(value.shape ?? [])} ${value.dtype ?? ""}: ${sample.map(short).join(", ")}` +
    (size > sample.length ? ", …" : "") +
    (facts.length ? ` (${facts.join(", ")})` : "")
  );
}
