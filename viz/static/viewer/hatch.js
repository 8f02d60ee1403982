// The hatching of a card on which no result depends.

import { s } from "./dom.js";

let patterns = 0; // on this page so far, for their ids

export function hatched(rim) {
  const id = `mg-hatch-${++patterns}`;
  rim.setAttribute("fill", `url(#${id})`);
  return s(
    "g",
    null,
    s(
      "pattern",
      {
        id,
        width: 8,
        height: 8,
        patternUnits: "userSpaceOnUse",
        patternTransform: "rotate(45)",
      },
      s("path", { d: "M0 0v8", class: "mg-hatch-line" }),
    ),
    rim,
  );
}
