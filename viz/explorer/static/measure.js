// How large a node's card must be for every value that it will hold: viz/layout/measure.py for
// single numbers; and where the cards stand.

import constants from "../../static/viewer/constants.json" with { type: "json" };
import { solve } from "../../static/viewer/layout.js";
import { short } from "../../static/viewer/numbers.js";

const ANATOMY = constants.card,
  FLOATING_KINDS = new Set(constants.layout.floating),
  HEAD_SIZE = 16,
  VALUE_SIZE = 13,
  CAPTION_SIZE = 10.5,
  SMALLER_SIZE = 0.72,
  SPACED_SIGNS = new Set([..."+−·/=×@→≈<>≤≥≠∧∨&|", "+=", "//", "mod", "xor"]);

// A line of mathematics as pieces [text, whether it is small].
const symbolPieces = ({ base, sub, sup }) =>
  [[base, false], sub && [sub, true], sup && [sup, true]].filter(Boolean);

function isLoneSign(tokens, i) {
  const before = tokens[i - 1],
    alone = !before || (before.t === "op" && "=(,·/×@→←+−".includes(before.text));
  return tokens[i].text === "−" && alone;
}

function linePieces(tokens) {
  return tokens.flatMap((token, i) => {
    if (token.t === "sym") return symbolPieces(token);
    if (token.t === "num") return [[short(token.value), false]];
    if (token.t === "sup")
      return [...grouped(token.base), ...linePieces(token.exp).map(([text]) => [text, true])];
    if (token.t === "sqrt") return [["√", false], ...grouped(token.of)];
    const { text } = token;
    if (token.t === "fn")
      return [[i + 1 < tokens.length && tokens[i + 1].text !== "(" ? `${text} ` : text, false]];
    if (SPACED_SIGNS.has(text) && !isLoneSign(tokens, i)) return [[` ${text} `, false]];
    return [[text === "," ? ", " : text, false]];
  });
}

const grouped = (tokens) =>
  tokens.length === 1 ? linePieces(tokens) : [["(", false], ...linePieces(tokens), [")", false]];

function letterWidth(letter) {
  if (" \u2009.,()[]|/ijl".includes(letter)) return 0.32;
  return "mwMW@=+−×→".includes(letter) ? 0.85 : 0.58;
}

function lineWidth(pieces) {
  let width = 0;
  for (const [text, small] of pieces)
    for (const letter of text)
      width += HEAD_SIZE * (small ? SMALLER_SIZE : 1) * letterWidth(letter);
  return width;
}

function headingPieces(node) {
  const head = symbolPieces(node.label),
    full = node.expr.length ? [...head, [" = ", false], ...linePieces(node.expr)] : head;
  const letters = full.reduce((sum, [text]) => sum + text.length, 0);
  return letters <= 30 ? full : [...head, [" = ", false], [node.op ?? "…", false]];
}

function captionText({ name = "", label }) {
  if (!name || name === `${label.base}${label.sub ?? ""}`) return "";
  return name.length <= 22 ? name : `${name.slice(0, 21)}…`;
}

const MOST_PLACED = 400; // nodes of a Trace that gets a layout

// The Trace with a layout. Of a very large graph there is none: the viewer then shows its table.
// before: the same with other values; where a card had space for them, it stays as it is.
export function withPlaces(trace, before) {
  if (trace.nodes.length > MOST_PLACED) return trace;
  const longest = new Map();
  for (const { writes } of trace.steps)
    for (const [id, , value] of writes)
      longest.set(id, Math.max(longest.get(id) ?? 0, short(value).length));
  const sizes = new Map();
  for (const node of trace.nodes) {
    const caption = captionText(node),
      values = ANATOMY.symbol + (longest.get(node.id) ?? 0) * VALUE_SIZE * 0.61;
    const inside = Math.max(
      lineWidth(headingPieces(node)),
      values,
      caption.length * CAPTION_SIZE * 0.56,
    );
    const rows = trace.columns.length * ANATOMY.row + (caption ? ANATOMY.caption : 0);
    const least = before?.layout?.nodes[node.id]?.w ?? 84;
    const width = Math.round(Math.max(least, inside + 2 * ANATOMY.side));
    sizes.set(node.id, [width, ANATOMY.head + rows + ANATOMY.pad]);
  }
  const floating = new Set(
    trace.nodes.filter(({ kind }) => FLOATING_KINDS.has(kind)).map(({ id }) => id),
  );
  return { ...trace, layout: solve(sizes, trace.edges, floating) };
}
