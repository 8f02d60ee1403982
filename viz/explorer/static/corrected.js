// A text with its mistakes mended, of which what was meant is plain: x**2 for x^2, 3*x for 3x.

import { compileFormula } from "./check.js";

const MOST_MENDED = 100; // mistakes

// The text itself where there are none.
export function corrected(given) {
  let text = given.replace(/\r\n/g, "\n").trim();
  for (let k = 0; k < MOST_MENDED; k++) {
    try {
      compileFormula(text);
      break;
    } catch (error) {
      if (error.instead === undefined) break;
      const lines = text.split("\n");
      lines[lines.indexOf(error.line)] = error.instead;
      text = lines.join("\n");
    }
  }
  return text;
}
