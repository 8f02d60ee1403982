// Formulas: tokens as MathML, and as runs of SVG text; names of nodes and columns.

import { shapeText } from "./array_text.js";
import { inRows } from "./array_rows.js";
import constants from "./constants.json" with { type: "json" };
import { h, m, s } from "./dom.js";
import { columnOf, key, nodesOf } from "./fold.js";
import { readNumber } from "./expressions.js";
import { NESTED, innerFormulas } from "./nested.js";
import { short } from "./numbers.js";

const ACCENT = { dot: "˙", bar: "¯" },
  COMBINING = { dot: "\u0307", bar: "\u0304" };
const isLong = ({ base }) => Array.from(String(base ?? "")).length > 1;
// a bar over one letter of phi would read p̄·h·i
const spans = (label) => label.accent === "bar" && isLong(label);
const looks = (...classes) => classes.filter(Boolean).join(" ") || null;
const ACCENT_COLUMN = { dot: "d", bar: "g" };
const RELATION = new Set(["=", "+=", "→", "≈", "←"]),
  SPACED = new Set(constants.spaced);

function symbol(token, colour = true) {
  // plain symbols in ink: colour means a tangent or an adjoint
  const column = ACCENT_COLUMN[token.accent];
  // of itself MathML slants single letters only
  const look = looks(isLong(token) && "mg-i", spans(token) && "mg-overline"),
    base = m("mi", { class: look }, String(token.base ?? ""));
  const body =
    ACCENT[token.accent] && !spans(token)
      ? m("mover", { accent: "true" }, base, m("mo", { stretchy: "false" }, ACCENT[token.accent]))
      : base;
  const small = (text) => m(/^[\d,]+$/.test(text) ? "mn" : "mi", null, String(text));
  const attributes = { class: colour && column ? `mg-c-${column}` : null, "data-node": token.node };
  if (token.sub && token.sup)
    return m("msubsup", attributes, body, small(token.sub), small(token.sup));
  if (token.sub) return m("msub", attributes, body, small(token.sub));
  if (token.sup) return m("msup", attributes, body, small(token.sup));
  return m("mrow", attributes, body);
}

const number = (text, column) => m("mn", { class: column ? `mg-c-${column}` : null }, text);

// A function's name stands apart from its argument, except before a bracket.
const takesGap = (i, all) => i + 1 < all.length && all[i + 1].text !== "(";
const tokenRow = (tokens) => m("mrow", null, (tokens ?? []).map(tokenMath));

function tokenMath(token, i = 0, all = []) {
  switch (token.t) {
    case "sym":
      return symbol(token);
    case "num":
      return number(short(token.value), token.col);
    case "row":
      return m(
        "mrow",
        null,
        number(token.text, token.col),
        token.text.endsWith(",") && m("mspace", { width: "0.35em" }),
      );
    case "op": {
      const text = String(token.text ?? "");
      if (!token.between && isSign(i, all))
        return m("mo", { form: "prefix", lspace: "0", rspace: "0" }, text);
      if (token.between && !RELATION.has(text))
        return m("mo", { stretchy: "false", form: "infix" }, text);
      if (RELATION.has(text)) return m("mo", { lspace: "0.3em", rspace: "0.3em" }, text);
      return m(
        "mo",
        SPACED.has(text) || text === ","
          ? { stretchy: "false" }
          : { stretchy: "false", lspace: "0", rspace: "0" },
        text,
      );
    }
    case "fn":
      return m(
        "mrow",
        null,
        m("mi", null, String(token.text ?? "")),
        takesGap(i, all) && m("mspace", { width: "0.17em" }),
      );
    case "frac":
      return m("mfrac", null, tokenRow(token.num), tokenRow(token.den));
    case "sup":
      return m("msup", null, tokenRow(token.base), tokenRow(token.exp));
    case "sqrt":
      return m("msqrt", null, tokenRow(token.of));
    default:
      return m("mtext", null, String(token.text ?? ""));
  }
}

const isRelation = (t) => t.t === "op" && RELATION.has(t.text);
const BEFORE_SIGN = new Set([..."=(,·/×@→←+−", "+="]);
export const isSign = (i, all) =>
  // −x, not a − x
  all[i].text === "−" && (i === 0 || (all[i - 1].t === "op" && BEFORE_SIGN.has(all[i - 1].text)));
// what follows is the running sum: before + part = after
const isAfter = (t) => t.t === "op" && t.text === "→";
export const math = (tokens) => m("math", null, tokenRow(tokens));

// A formula breaks before its second, third … "=" first of all; a part between two of them that is
// long also before a "+" or "−", then before a "·", then after a comma or before "at", outside of
// brackets before inside; a long array between its rows. Each piece is a formula of its
// own; what is broken further keeps together as long as there is space, and its further lines are
// set in.
const LONG_PIECE = 16; // signs that every screen has space for
const AT = "\u00a0at\u00a0"; // of scatter(v at [0], 0 elsewhere)
const BREAKS = [
  new Set(["+", "−"]),
  new Set(["·", "×", "@", "∗", "/"]),
  new Set([",", AT]),
];
const OPENING = new Set(["(", "["]),
  CLOSING = new Set([")", "]"]);
const lengthOf = (tokens) => plain(runs(tokens)).length;

// Where numbers are computed with, and what is shown of them does not give what is shown of the
// result, ≈ stands in place of =: 3.718 + 2.718 ≈ 6.437.
export function honest(tokens) {
  let side = [];
  return tokens.map((t, i) => {
    const left = side,
      [right, end] = tokens.slice(i + 1);
    side = isRelation(t) ? [] : [...left, t];
    if (t.text !== "=" || left.length < 2 || right?.t !== "num" || (end && !isRelation(end)))
      return t;
    const found = [...left, right].every(calculable) ? readNumber(plain(runs(left))) : undefined;
    return !Number.isFinite(found) || short(found) === short(right.value) ? t : { ...t, text: "≈" };
  });
}
const calculable = ({ t, value, text, base, exp }) =>
  t === "num"
    ? Number.isFinite(value)
    : t === "sup"
      ? [...base, ...exp].every(calculable)
      : t === "op" && "+−·×/()".includes(text);

export function equation(given, free = 1) {
  const tokens = honest(given),
    end = tokens.findIndex(isAfter),
    pieces = [[]];
  let relations = 0;
  for (const t of end < 0 ? tokens : tokens.slice(0, end)) {
    if (isRelation(t) && relations++ >= free) pieces.push([]);
    pieces.at(-1).push(t);
  }
  return pieces
    .filter((piece) => piece.length)
    .map(([first, ...rest]) =>
      pieceOf([isSign(0, [first]) ? { ...first, sign: true } : first, ...rest]),
    );
}

function pieceOf(tokens) {
  const parts = lengthOf(tokens) > LONG_PIECE ? broken(tokens) : [tokens];
  return parts.length > 1
    ? h("span", { class: "mg-piece mg-long" }, parts.map(pieceOf))
    : h("span", { class: "mg-piece" }, math(continued(tokens)));
}
// A piece that begins with an operator has it between its neighbours still, not as a sign.
const continued = ([first, ...rest]) =>
  first.t === "op" && SPACED.has(first.text) && !first.sign
    ? [{ ...first, between: true }, ...rest]
    : [first, ...rest];

function broken(tokens) {
  let depth = 0;
  const places = tokens
    .map((t, i) => {
      if (t.t === "op" && CLOSING.has(t.text)) depth--;
      const found = {
        depth,
        kind:
          (t.t === "op" && !isSign(i, tokens) && !t.sign) || t.text === AT
            ? BREAKS.findIndex((signs) => signs.has(t.text))
            : -1,
        at: t.text === "," ? i + 1 : i,
      };
      if (t.t === "op" && OPENING.has(t.text)) depth++;
      return found;
    })
    .filter(({ kind, at }) => kind >= 0 && at > 0 && at < tokens.length);
  if (!places.length) return inRows(tokens, LONG_PIECE);
  const rank = ({ depth: deep, kind }) => deep * BREAKS.length + kind,
    first = Math.min(...places.map(rank)),
    cuts = places.filter((one) => rank(one) === first).map(({ at }) => at);
  return [0, ...cuts].map((from, i) =>
    tokens
      .slice(from, cuts[i])
      .map((t, k) => (!k && from && isSign(from, tokens) ? { ...t, sign: true } : t)),
  );
}
export function runs(tokens) {
  const single = (inner) => !inner[1] || inner[0].text?.[0] === "∂";
  const grouped = (inner) =>
    single(inner) ? runs(inner) : [{ text: "(" }, ...runs(inner), { text: ")" }];
  return tokens.flatMap((t, i) => {
    switch (t.t) {
      case "sym":
        return symbolRuns(t);
      case "num":
        return [{ text: short(t.value) }];
      case "op":
        return [
          {
            text:
              SPACED.has(t.text) && !isSign(i, tokens)
                ? ` ${t.text} `
                : t.text === ","
                  ? ", "
                  : String(t.text ?? ""),
          },
        ];
      case "fn":
        return [{ text: t.text + (takesGap(i, tokens) ? "\u2009" : "") }];
      case "frac":
        return [...grouped(t.num ?? []), { text: "/" }, ...grouped(t.den ?? [])];
      case "sup":
        return [...grouped(t.base ?? []), ...exponent(t.exp).map((r) => ({ ...r, level: 1 }))];
      case "sqrt":
        return [{ text: "√" }, ...grouped(t.of ?? [])];
      default:
        return [{ text: String(t.text ?? "") }];
    }
  });
}
export const symbolRuns = (label) => [
  {
    text: String(label.base ?? "").replace(
      /^./u,
      (first) => first + ((!spans(label) && COMBINING[label.accent]) || ""),
    ),
    italic: true,
    over: spans(label),
  },
  ...(label.sub ? [{ text: String(label.sub), level: -1 }] : []),
  ...(label.sup ? [{ text: String(label.sup), level: 1 }] : []),
];
// A power in an exponent is text.
function exponent(tokens) {
  const power = runs(tokens ?? []);
  return power.some(({ level }) => level > 0) ? [{ text: plain(power) }] : power;
}
const RAISED = { "−": "⁻", T: "ᵀ", H: "ᴴ", "′": "′" };
// An exponent as text: x², xᵀ, and a^(b − 1).
export function raised(power, bare) {
  if (!/^(−?\d+|[TH′])$/.test(power)) return `^${bare ? power : `(${power})`}`;
  return power.replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? RAISED[sign]);
}
// Runs as a line of text; e to the power x as exp(x).
export function plain(pieces) {
  const levels = [];
  for (const { level = 0, text, italic } of pieces) {
    if (levels.at(-1)?.level !== level) levels.push({ level, whole: "" });
    levels.at(-1).whole += text;
    levels.at(-1).isE = text === "e" && !italic;
  }
  return levels
    .reduce((out, { level, whole }, i) => {
      const { level: last = 0, isE } = levels[i - 1] ?? {};
      if (level <= Math.max(last, 0)) return out + whole;
      return isE ? `${out.slice(0, -1)}exp(${whole})` : out + raised(whole, !whole.includes(" "));
    }, "")
    .replaceAll("\u2009", " ")
    .trim();
}
export const labelOf = (node) => node.label ?? { base: node.id };

// Tokens of which some are changed, also inside others.
export const changed = (tokens, change) =>
  (tokens ?? []).map((t) => {
    const inner = (NESTED[t.t] ?? []).map((name) => [name, changed(t[name], change)]);
    return change(t) ?? { ...t, ...Object.fromEntries(inner) };
  });
// Of a parameter's path the layer, and at most so many letters.
const shortNames = (tokens, most = 99) =>
  changed(tokens, (t) => {
    if (t.t !== "sym") return null;
    const name = Array.from(t.base.split(".").slice(-2).join("."));
    if (name.length > most) name.splice(most - 1, Infinity, "…");
    return { ...t, base: name.join("") };
  });
// How a node is made; in a long expression long names are cut.
export const expression = ({ expr }) =>
  math(lengthOf(expr) > 30 ? shortNames(expr, 12) : expr);

// At most 30 letters: of a parameter's path all but the layer is left out first, then what stands
// in words behind the operands, then the ends of long names, then that of the expression.
function withoutWords(tokens) {
  const at = tokens.findIndex((token) => token.t === "text");
  return at < 0 ? tokens : [...tokens.slice(0, at), { t: "op", text: "…" }, tokens.at(-1)];
}
export function headingRuns(node) {
  const head = symbolRuns(labelOf(node)),
    expression = runs(node.expr ?? []);
  const fits = (all) =>
    all.reduce((sum, r) => sum + Array.from(r.text).length, 0) <= 30;
  if (!expression.length) return head;
  const start = [...head, { text: " = " }],
    all = [...start, ...expression];
  if (fits(all)) return all;
  const less = withoutWords(node.expr),
    near = (tokens, most) => [...start, ...runs(shortNames(tokens, most))];
  if (fits(near(node.expr))) return near(node.expr);
  for (const most of [99, 14, 10, 8]) if (fits(near(less, most))) return near(less, most);
  let space = 30;
  return near(less).flatMap((r) => {
    const letters = Array.from(r.text),
      before = space;
    space -= letters.length;
    if (space > 0) return r;
    return before > 0 ? { ...r, text: `${letters.slice(0, before - 1).join("")}…` } : [];
  });
}

export function captionOf(node) {
  const name = String(node.name ?? ""),
    parts = [];
  if (name && name !== plain(symbolRuns(labelOf(node))))
    parts.push(name.length <= 22 ? name : name.slice(0, 21) + "…");
  if (node.shape?.length) parts.push(`${shapeText(node.shape)} ${node.dtype ?? ""}`.trim());
  return parts.join(" · ");
}

// Subscripts by dy, since baseline-shift is not supported everywhere.
export function svgRuns(pieces) {
  let level = 0;
  return pieces.map((r) => {
    const to = r.level ?? 0,
      dy = (level - to) * 4.5;
    level = to;
    return s(
      "tspan",
      {
        dy: dy || null,
        class: looks(r.italic && "mg-i", r.over && "mg-overline", to && "mg-small"),
      },
      r.text,
    );
  });
}

// The formula with each symbol replaced by its value.
const spelled = (tokens, state) =>
  changed(tokens, ({ t, node, col = "v" }) => {
    const value = state.get(key(node, col));
    return t === "sym" && value !== undefined ? { t: "num", value, col } : null;
  });

// The rule of a step: the last side of its formula that holds symbols, x̄2 = … = v̄4 · cos x2 = ….
export function ruleOf(step) {
  const sides = [[]],
    symbolic = (tokens) => tokens.some((t) => t.t === "sym" || innerFormulas(t).some(symbolic));
  let depth = 0;
  for (const t of step.formula ?? []) {
    if (t.t === "op") depth += { "(": 1, ")": -1 }[t.text] ?? 0;
    if (isAfter(t)) break;
    if (isRelation(t) && !depth) sides.push([]);
    else sides.at(-1).push(t);
  }
  return sides.slice(1).findLast(symbolic) ?? [];
}

// Sums beside the formula. The running sum of an adjoint always; the numbers of the step where its
// formula holds symbols only (fewer than two relations), from the contributions or by putting
// values in.
export function arithmetic(step, state) {
  const op = (text) => ({ t: "op", text }),
    num = (value, col) => ({ t: "num", value, col });
  const column = columnOf(step),
    written = step.writes?.[0]?.[2],
    contribs = step.contribs ?? [],
    formula = step.formula ?? [],
    out = [];
  const product = (c) => {
    if (c.local === undefined) return [num(c.product)];
    const pair = [num(c.local), op("·"), num(c.upstream, column)];
    // as the formulas are written: ẏ = ∂y/∂x · ẋ, but x̄ = ȳ · ∂y/∂x
    return column === "g" ? pair.reverse() : pair;
  };
  if (formula.filter(isRelation).length < 2) {
    const from = formula.findIndex(isRelation),
      right = formula.slice(from + 1);
    if (contribs.length > 1 || contribs[0]?.local !== undefined) {
      const terms = contribs.flatMap((c, i) => (i ? [op("+"), ...product(c)] : product(c)));
      out.push([
        ...terms,
        op("="),
        num(contribs.length === 1 ? contribs[0].product : written, column),
      ]);
    } else if (!contribs.length && from >= 0 && right.length > 1)
      out.push([...spelled(right, state), op("="), num(written, column)]);
  }
  out.push(...(step.state ?? [])); // of an optimiser: its moments
  const after = formula.findIndex(isAfter);
  if (after >= 0) return [...out, formula.slice(after + 1)];
  const sum = (c) => [
    num(c.before, column),
    op("+"),
    num(c.product),
    op("="),
    num(c.after ?? written, column),
  ];
  return [...out, ...contribs.filter((c) => c.before !== undefined).map(sum)];
}

export const columnName = (column, t) =>
  t(column.key) === column.key ? String(column.label ?? column.key) : t(column.key);
// The mark of a column: a ring in the place of any node's name, with the column's dot or bar. A
// letter could be the name of a node.
const ACCENT_SHAPE = {
  d: "m3.2 -6.8a0.8 0.8 0 1 0 1.6 0a0.8 0.8 0 1 0 -1.6 0",
  g: "m-0.5 -6.7h9",
};
// One path, where a group of shapes would cost each step time: a picture has three to a card.
export const columnGlyph = (key, x, y) =>
  `M${x + 1} ${y - 4}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0${ACCENT_SHAPE[key] ?? ""}`;
export const columnMark = (key) =>
  s(
    "svg",
    { viewBox: "0 -13 10 14", class: "mg-colmark", "aria-hidden": "true" },
    s("path", { class: `mg-mark mg-c-${key}`, d: columnGlyph(key, 0, 0) }),
  );
// A node's adjoint as a row's head: the symbol for the eye, its name for the ear.
export const adjointHead = (node, t) => [
  m("math", { "aria-hidden": "true" }, symbol({ ...labelOf(node), accent: "bar" })),
  h("span", { class: "mg-hidden" }, `${t("g")} ${nodeName(node)}`),
];
// What the passes of a Trace begin with: for each mode its seeds, as ẋ1 = 1, ẋ2 = 0; of many, those
// that are not zero first.
const MOST_SEEDS = 4;
export function seedsOf(trace, t) {
  const byId = nodesOf(trace);
  // a number, or one of an array's
  const some = (value) => Number(value !== 0 && (value.min !== 0 || value.max !== 0));
  return [
    ["forward", "tangents", "dot", "d"],
    ["reverse", "adjoints", "bar", "g"],
  ].flatMap(([mode, part, accent, column]) => {
    const all = Object.entries(trace.seed?.[part] ?? {}).filter(([id]) => byId.has(id));
    const shown =
      all.length > MOST_SEEDS
        ? [...all].sort((a, b) => some(b[1]) - some(a[1])).slice(0, MOST_SEEDS)
        : all;
    if (!shown.length) return [];
    const said = shown.flatMap(([id, value], i) => [
      i ? ", " : " ",
      math([
        { t: "sym", ...labelOf(byId.get(id)), accent, node: id },
        { t: "op", text: "=" },
        { t: "num", value: some(value) ? value : 0, col: column }, // an array of 0, too
      ]),
    ]);
    return [
      h(
        "span",
        { class: "mg-seed" },
        t("seeded", { mode: t(mode) }),
        said,
        all.length > shown.length && ", …",
      ),
    ];
  });
}
export const nodeName = (node) => plain(symbolRuns(labelOf(node)));
// byId: the nodes; edges: those of the Trace by their ids.
export const namesOf = (trace) => {
  const byId = nodesOf(trace),
    edges = new Map(trace.edges.map((edge) => [edge.id, edge]));
  return Object.assign((id) => (byId.has(id) ? nodeName(byId.get(id)) : id), { byId, edges });
};
