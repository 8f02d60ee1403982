// The rule of a step as a small picture: the operation's curve, and its tangent at the point. It is
// drawn for an operation of one number that bends.

import { h, s } from "./dom.js";
import { readNumber } from "./expressions.js";
import { key, nodesOf } from "./fold.js";
import { changed, plain, runs } from "./formulas.js";
import { short } from "./numbers.js";

const CURVE_POINTS = 48,
  CURVE_WIDE = 120,
  CURVE_TALL = 68;
const HOLE = "□"; // the place of the operand in an operation's text

// The heights between which most of a curve lies; poles do not count.
export function heightsOf(points, value) {
  const all = points
    .map(([, y]) => y)
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const at = (share) => all[Math.round(share * (all.length - 1))] ?? value;
  const low = Math.min(at(0.04), value),
    high = Math.max(at(0.96), value),
    rim = (high - low) * 0.15 || Math.max(1, Math.abs(high) / 10);
  return [low - rim, high + rim];
}

// A path through the points: broken where there is no value, or where it jumps past the window.
export function pathOf(points, toX, toY, [low, high]) {
  let text = "",
    drawing = false,
    before = NaN;
  const tall = high - low;
  for (const [x, y] of points) {
    const shown = Number.isFinite(y) && y > low - 3 * tall && y < high + 3 * tall;
    const jumps = drawing && Math.abs(y - before) > 2 * tall;
    if (shown) text += `${drawing && !jumps ? "L" : "M"}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`;
    drawing = shown;
    before = y;
  }
  return text;
}

const withHole = (tokens) =>
  changed(tokens, ({ t }) => (t === "sym" ? { t: "text", text: `(${HOLE})` } : null));

// The curve of an operation around its operand's value: {points, from, to}; null where it is a
// straight line, or where its text is not one that can be computed.
function curveOf(node, at, value) {
  const text = plain(runs(withHole(node.expr))),
    half = Math.max(2, 1.2 * Math.abs(at)),
    f = (x) => readNumber(text.replaceAll(HOLE, String(x))) ?? NaN;
  if (!(Math.abs(f(at) - value) <= 1e-6 * Math.max(1, Math.abs(value)))) return null;
  const [from, to] = [at - half, at + half];
  const points = Array.from({ length: CURVE_POINTS + 1 }, (_, k) => {
    const x = from + ((to - from) * k) / CURVE_POINTS;
    return [x, f(x)];
  });
  const [[, first], , [, third]] = points,
    rise = (third - first) / 2,
    close = 1e-9 * (1 + Math.abs(first) + Math.abs(value)),
    bends = points.some(([, y], k) => !(Math.abs(y - first - k * rise) <= close));
  return bends ? { points, from, to } : null;
}

// inputs: {has(name), set(name, value)}, the inputs that can be moved; null where none can.
export function drawCurve(trace, t, inputs = null) {
  const nodes = nodesOf(trace),
    edges = new Map(trace.edges.map((edge) => [edge.id, edge])),
    operands = new Map();
  for (const { src, dst } of trace.edges) operands.set(dst, [...(operands.get(dst) ?? []), src]);
  const isNumber = (id) => !nodes.get(id).shape?.length;
  if (![...operands].some(([id, [at, more]]) => !more && isNumber(id) && isNumber(at))) return null;
  const line = s("path", { class: "mg-curve-line" }),
    tangent = s("line", { class: "mg-curve-tangent" }),
    point = s("circle", { class: "mg-curve-point", r: 4.5 });
  const area = { viewBox: `0 0 ${CURVE_WIDE} ${CURVE_TALL}`, role: "img" },
    svg = s("svg", area, line, tangent, point),
    box = h("button", { class: "mg-curve", "aria-expanded": "true", onclick: fold }, svg);
  box.hidden = true;
  const curves = new Map(); // of each node, as far as a step has shown it
  const known = (id, at, value) => {
    if (!curves.has(id)) curves.set(id, curveOf(nodes.get(id), at, value));
    return curves.get(id);
  };
  let moved = null; // the name of the input at the point, where it can be moved
  let shown = null;

  function fold() {
    if (!moved) box.setAttribute("aria-expanded", box.getAttribute("aria-expanded") === "false");
  }
  function update(step, state) {
    const id = edges.get(step?.edges?.[0])?.dst,
      [source, second] = operands.get(id) ?? [],
      [at, value] = [source, id].map((one) => state?.get(key(one, "v")));
    shown =
      second === undefined && typeof at === "number" && typeof value === "number"
        ? known(id, at, value)
        : null;
    box.hidden = !shown;
    if (!shown) return;
    const { points, from, to } = shown,
      heights = heightsOf(points, value),
      slope = step.contribs?.[0]?.local;
    const toX = (x) => ((x - from) / (to - from)) * CURVE_WIDE,
      toY = (y) => (1 - (y - heights[0]) / (heights[1] - heights[0])) * CURVE_TALL,
      set = (element, parts) =>
        Object.entries(parts).forEach(([key, part]) => element.setAttribute(key, part));
    line.setAttribute("d", pathOf(points, toX, toY, heights));
    tangent.style.display = typeof slope === "number" ? "" : "none";
    const rise = (x) => toY(value + (slope ?? 0) * (x - at));
    set(tangent, { x1: 0, y1: rise(from), x2: CURVE_WIDE, y2: rise(to) });
    set(point, { cx: toX(at), cy: toY(value) });
    const name = nodes.get(source).name ?? source;
    moved = nodes.get(source).kind === "input" && inputs?.has(name) ? name : null;
    box.classList.toggle("mg-curve-moves", moved !== null);
    const said = { node: id, x: short(at), y: short(value), slope: short(slope) };
    const label = t(typeof slope === "number" ? "curveSlope" : "curveOnly", said);
    svg.setAttribute("aria-label", label);
  }
  svg.addEventListener("pointerdown", (event) => {
    const name = moved;
    if (name && shown) drag(event, svg, shown, (value) => inputs.set(name, value));
  });
  return { box, update, renew: () => curves.clear() };
}

// Follows the pointer until it is let up. The window stays as it was at the beginning, and the
// picture itself may be replaced at each move.
function drag(event, svg, { from, to }, set) {
  const { left, width } = svg.getBoundingClientRect(),
    over = new AbortController();
  const follow = ({ clientX }) => set(from + ((clientX - left) / width) * (to - from));
  event.preventDefault();
  addEventListener("pointermove", follow, over);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => over.abort(), over);
  follow(event);
}
