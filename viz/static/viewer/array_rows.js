// Long arrays in a formula, in several lines.

import { short } from "./numbers.js";

const BETWEEN_ELEMENTS = /, (?![\d, ]*\)$)/; // and not within the shape at the end
// Where nothing else divides it, an array of more than `most` signs: after its rows, and a long row
// after its elements.
export function inRows(tokens, most) {
  const out = [[]];
  for (const t of tokens) {
    const text = t.t === "num" ? short(t.value) : t.text,
      rows = text?.includes("], ["),
      parts = text?.split(rows ? "], [" : BETWEEN_ELEMENTS) ?? [],
      [end, begin] = rows ? ["],", "["] : [",", ""];
    if (!["num", "row"].includes(t.t) || text.length <= most || parts.length < 2)
      out.at(-1).push(t);
    else
      parts.forEach((part, i) => {
        if (i) out.push([]);
        out
          .at(-1)
          .push({
            t: "row",
            col: t.col,
            text: (i ? begin : "") + part + (i < parts.length - 1 ? end : ""),
          });
      });
  }
  return out;
}
