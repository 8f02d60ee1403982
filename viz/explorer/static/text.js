// Numbers and formulas as lines of text, as minigrad/trace/text.py writes them.

import { raised } from "../../static/viewer/formulas.js";
import { short } from "../../static/viewer/numbers.js";

export const numberText = (value) => short(valueOf(value));

// A value of a Trace: what JSON has no number for is a word.
export function valueOf(value) {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

const OVERDOT = "\u0307",
  OVERBAR = "\u0304",
  OVERLINE = "\u0305",
  ALPHANUMERIC = /[\p{L}\p{N}]/u;
const SIGN_FOLLOWS = new Set(["=", "(", ",", "·", "/", "×", "@", "→", "←", "+", "−", "+="]);
const SPACED_OUT = new Set([..."+−·/=×@→≈<>≤≥≠∧∨&|", "+=", "//", "mod", "xor"]);

export function accentedText(base, accent) {
  const letters = [...base];
  if (accent === "bar")
    return letters.length === 1 ? base + OVERBAR : letters.map((one) => one + OVERLINE).join("");
  const middle = Math.floor((letters.length + 1) / 2);
  return accent === "dot"
    ? letters.slice(0, middle).join("") + OVERDOT + letters.slice(middle).join("")
    : base;
}

function isSignAt(tokens, i) {
  const before = tokens[i - 1],
    alone = !before || (before.t === "op" && SIGN_FOLLOWS.has(before.text));
  return tokens[i].t === "op" && tokens[i].text === "−" && alone;
}

function pieceText(token) {
  if (token.t === "sym") return accentedText(token.base, token.accent) + (token.sub ?? "");
  if (token.t === "num") return numberText(token.value);
  if (token.t === "frac") return `${textOf(token.num)}/${textOf(token.den)}`;
  if (token.t === "sqrt") return `√(${textOf(token.of)})`;
  if (token.t !== "sup") return token.text;
  const exponent = textOf(token.exp);
  const bare = token.exp.length === 1 && token.exp[0].t !== "sup";
  const [{ t: kind, text }] = token.base;
  if (kind === "fn" && text === "e") return `exp(${exponent})`;
  return textOf(token.base) + raised(exponent, bare);
}

// Formula tokens as a line of text.
export function textOf(tokens) {
  let out = "";
  tokens.forEach((token, i) => {
    let piece = pieceText(token);
    const last = [...out].at(-1) ?? "";
    if (isSignAt(tokens, i)) out += piece;
    else if (token.t === "op" && SPACED_OUT.has(piece)) out += ` ${piece} `;
    else if (token.t === "op" && piece === ",") out += ", ";
    else {
      const closeBy = ALPHANUMERIC.test(last) || [OVERDOT, OVERBAR, OVERLINE].includes(last);
      if (closeBy && token.t !== "op" && token.t !== "sup") piece = ` ${piece}`;
      out += piece;
    }
  });
  return out.trim().replace(/\s+/g, " ");
}
