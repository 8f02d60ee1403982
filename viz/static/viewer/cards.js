// Cards and edges: what one node, one group and one edge look like.

import constants from "./constants.json" with { type: "json" };
import {
  HEAT,
  LINE,
  ROW,
  heatMap,
  heatOf,
  kindOf,
  linesOf,
  rowHeight,
} from "./arrays.js";
import { unlikeText } from "./beside.js";
import { s, setText } from "./dom.js";
import { captionOf, columnGlyph, headingRuns, svgRuns } from "./formulas.js";
import { hatched } from "./hatch.js";
import { isOdd } from "./numbers.js";
import { decidedLines } from "./speech.js";

export const { head: HEAD, caption: CAPTION, side: SIDE } = constants.card;
const { tip: EDGE_TIP, dense: DENSE } = constants.edge;

// A smooth curve that is level at both ends and monotone between its points (Fritsch and Carlson
// 1980), so it never swings into a card. Where the points do not run on to the right, as between
// the lines of a long graph, it goes straight, round the corners.
export function curve(points) {
  const runs = [[points[0]]];
  for (const point of points.slice(1)) {
    if (point[0] > runs.at(-1).at(-1)[0]) runs.at(-1).push(point);
    else runs.push([point]);
  }
  let d = `M${points[0]}`;
  runs.forEach((run, i) => {
    const before = runs[i - 1]?.at(-1),
      after = runs[i + 1]?.[0],
      ends = [...run];
    if (before) {
      ends[0] = beside(run[0], run[1] ?? after);
      d += `L${beside(run[0], before)}Q${run[0]} ${ends[0]}`;
    }
    const corner = run.length > 1 && after && ends.pop();
    if (corner) ends.push(beside(corner, ends.at(-1)));
    d += smooth(ends);
    if (corner) d += `Q${corner} ${beside(corner, after)}`;
  });
  return d.replaceAll(",", " ");
}
const rounded = (v) => Math.round(v * 10) / 10;
// The point just before a corner, on the way from it to another point.
function beside([x, y], [u, v]) {
  const length = Math.hypot(u - x, v - y),
    share = length ? Math.min(constants.edge.corner, length / 2) / length : 0;
  return [rounded(x + (u - x) * share), rounded(y + (v - y) * share)];
}

// The pieces of a smooth curve: for each its end, and its two control points on the way there.
function cubics(points) {
  const n = points.length,
    slope = points.slice(1).map((p, i) => (p[1] - points[i][1]) / (p[0] - points[i][0] || 1));
  const tangent = points.map((_, i) => {
    if (i === 0 || i === n - 1 || slope[i - 1] * slope[i] <= 0) return 0;
    return (2 * slope[i - 1] * slope[i]) / (slope[i - 1] + slope[i]);
  });
  return points.slice(1).map(([x1, y1], i) => {
    const [x0, y0] = points[i],
      reach = (x1 - x0) * (tangent[i] || tangent[i + 1] ? 1 / 3 : 0.45);
    return [
      [rounded(x0 + reach), rounded(y0 + tangent[i] * reach)],
      [rounded(x1 - reach), rounded(y1 - tangent[i + 1] * reach)],
      [x1, y1],
    ];
  });
}
const smooth = (points) =>
  cubics(points)
    .map((piece) => `C${piece.flat().join(" ")}`)
    .join("");

// Points along a wire as it is drawn, close enough together to tell what covers it.
export const waypoints = (points) => pieces(points).flat();
// Those from each point of a wire to the next.
export function pieces(points) {
  const turns = turnOf(points) >= 0,
    drawn = turns ? points.slice(1).map((end, i) => [points[i], end, end]) : cubics(points);
  return drawn.map(([c, d, end], i) => {
    const [a, b] = points[i],
      out = i ? [] : [points[0]],
      steps = Math.max(1, Math.ceil((Math.abs(end[0] - a) + Math.abs(end[1] - b)) / DENSE));
    for (let k = 1; k <= steps; k++) {
      const u = k / steps,
        v = 1 - u,
        mix = (p, q, r, t) => v * v * v * p + 3 * v * v * u * q + 3 * v * u * u * r + u * u * u * t;
      out.push(
        turns
          ? [a + (end[0] - a) * u, b + (end[1] - b) * u]
          : [mix(a, c[0], d[0], end[0]), mix(b, c[1], d[1], end[1])],
      );
    }
    return out;
  });
}

// Where a wire turns back between two lines: the number of the point at the right end of its way
// back; -1 for a wire within a line. The next point is the place of its label.
export const turnOf = (points) =>
  points.findIndex(([x], i) => i + 1 < points.length && points[i + 1][0] < x);

// The generation of a node or edge: 0 the function itself, 1 its derivative's graph, 2 and 3
// further derivatives.
export const stageOf = (item) => constants.stages[item.stage] ?? 0;

export function drawWire(points, stage = 0) {
  const [x0, y0] = points[0],
    [x1, y1] = points.at(-1);
  const line = s("path", { class: "mg-wire" }),
    tip = s("path", { class: "mg-tip" });
  const ways = {
    forward: [curve([...points.slice(0, -1), [x1 - EDGE_TIP, y1]]), `M${x1} ${y1}l-10 -4.5v9z`],
    backward: [curve([[x0 + EDGE_TIP, y0], ...points.slice(1)]), `M${x0} ${y0}l10 -4.5v9z`],
  };
  function point(way) {
    line.setAttribute("d", ways[way][0]);
    tip.setAttribute("d", ways[way][1]);
  }
  point("forward");
  return {
    group: s("g", { class: `mg-edge mg-stage-${stage}` }, line, tip),
    points,
    cut: [x0 + 6, y0],
    point,
  }; // cut: where the mark of a cut stands
}

export const frame =
  ({ x, y, w, h }, corner) =>
  (grow, name, pushed = 0) =>
    s("rect", {
      x: x - w / 2 - grow + pushed,
      y: y - h / 2 - grow + pushed,
      width: w + 2 * grow,
      height: h + 2 * grow,
      rx: corner + grow,
      class: name,
    });

// Rows for the columns, each with its mark and its value; heights by the shape.
export function drawRows(columns, box, top, shape, t) {
  const rows = new Map(),
    left = box.x - box.w / 2 + SIDE,
    right = box.x + box.w / 2 - SIDE,
    kind = kindOf(shape);
  for (const { key: column } of columns) {
    const mark = s("path", { class: `mg-mark mg-c-${column}` }),
      value = s("text", { x: right, class: `mg-value mg-c-${column}` }),
      map = kind === "heat" ? s("g") : null;
    const row = {
      mark,
      value,
      map,
      row: s("g", { class: "mg-row", "data-col": column }, mark, value, map),
    };
    // theirs: the value of another Trace beside this one, where it differs
    row.show = (given, theirs) => {
      const unlike = given !== undefined && theirs !== undefined,
        lines = unlike ? [unlikeText(given, theirs, t)] : linesOf(given, shape, t),
        text = lines.join("\n");
      row.row.classList.toggle("mg-unlike-value", unlike);
      if (text === row.text) return;
      row.text = text;
      row.row.classList.toggle("mg-nan", isOdd(text, given));
      if (lines.length === 1) setText(value, lines[0]);
      else
        value.replaceChildren(
          ...lines.map((line, i) => s("tspan", { x: right, dy: i ? LINE : null }, line)),
        );
      const heat = map && heatOf(given);
      map?.replaceChildren(
        ...(heat ? [heatMap(heat, left, 6, box.w - 2 * SIDE, HEAT - 5)] : []),
      );
    };
    rows.set(column, row);
  }
  return { rows, left, top, tall: rowHeight(shape) };
}

// The columns that are shown, one below the other.
export function arrangeRows(card, shown) {
  let at = card.top + 14;
  for (const [column, row] of card.rows) {
    row.row.classList.toggle("mg-off", !shown.has(column));
    if (!shown.has(column)) continue;
    row.mark.setAttribute("d", columnGlyph(column, card.left, at));
    row.value.setAttribute("y", at);
    for (const line of row.value.children) if (!line.hasAttribute("dy")) line.setAttribute("y", at);
    row.map?.setAttribute("transform", `translate(0 ${at})`);
    at += card.tall;
  }
}

export function drawCard(node, box, columns, t, keeping = true) {
  const { x, y, w, h: tall } = box,
    left = x - w / 2,
    top = y - tall / 2,
    small = [captionOf(node), ...decidedLines(node, t)].filter(Boolean),
    body = top + HEAD + small.length * CAPTION;
  const rim = frame(box, constants.card.corners[node.kind] ?? constants.card.corner),
    kind = /^\w+$/.test(node.kind) ? node.kind : "op",
    stage = stageOf(node);
  const heading = s("text", { x, y: top + 20, class: "mg-heading" }, svgRuns(headingRuns(node)));
  const { rows, ...place } = drawRows(columns, box, body, node.shape ?? [], t);
  const stripes = Array.from({ length: stage }, (_, i) =>
    s("path", { d: `M${left + 4 + 4 * i} ${top + 6}v${tall - 12}`, class: "mg-stripe" }),
  );
  const kept =
    keeping && node.saved?.length
      ? s("rect", { x: left + w - 14, y: top - 4, width: 8, height: 8, class: "mg-kept" })
      : null;
  const looks = [node.dangling && " mg-dangling", node.failed && " mg-failing"].filter(Boolean);
  const group = s(
    "g",
    {
      class: `mg-node mg-kind-${kind} mg-stage-${stage}${looks.join("")}`,
      "data-node": node.id,
      tabindex: "-1",
      role: "button",
    },
    rim(4, "mg-halo"),
    rim(0, "mg-card"),
    node.dangling && hatched(rim(0, "mg-hatch")),
    stripes,
    heading,
    small.map((line, i) =>
      s("text", { x, y: top + HEAD + 7 + i * CAPTION, class: "mg-caption" }, line),
    ),
    columns.length && s("path", { d: `M${left + 1} ${body - 1}h${w - 2}`, class: "mg-rule" }),
    [...rows.values()].map((r) => r.row),
    kept,
  );
  return { group, heading, rows, space: w - 12, ...place };
}

// The size of a node's card where Python laid nothing out: that of its place in the Trace's layout.
export const cardSize = (box) => [box.w, box.h];
