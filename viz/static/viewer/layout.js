// Where boxes stand when groups open and close: the layered layout of viz/layout/pure.py, whose
// stages and sources are described there.

import constants from "./constants.json" with { type: "json" };

const { margin: MARGIN, node_gap: NODE_GAP, lane_gap: LANE_GAP } = constants.layout;
const { layer_gap: LAYER_GAP, port_gap: PORT_GAP, saves: SAVES } = constants.layout;
const SWEEPS = 8;

// sizes: Map id -> [width, height] in topological order; edges: [{id, src, dst}]; floating: ids
// that may stand just before their first use.
// Long: the stages of one algorithm, each used once.
export function solve(sizes, edges, floating = new Set()) {
  const ids = [...sizes.keys()],
    layer = layersOf(ids, edges, floating),
    rows = [],
    left = new Map(),
    right = new Map();
  for (const id of ids) (rows[layer.get(id)] ??= []).push(id);
  const join = (a, b) => {
    right.set(a, [...(right.get(a) ?? []), b]);
    left.set(b, [...(left.get(b) ?? []), a]);
  };
  // Edges longer than a layer run through way-points; those that leave the same node share them.
  const lane = (src, at) => `${src}\u0000${at}`,
    lanes = new Set();
  for (const e of edges) {
    let here = e.src;
    for (let at = layer.get(e.src) + 1; at < layer.get(e.dst); at++) {
      const point = lane(e.src, at);
      if (!lanes.has(point)) {
        lanes.add(point);
        rows[at].push(point);
        join(here, point);
      }
      here = point;
    }
    join(here, e.dst);
  }
  const height = (v) => sizes.get(v)?.[1] ?? 0,
    real = (v) => sizes.has(v);
  order(rows, left, right);
  const y = positions(rows, left, right, height, real);
  const widths = rows.map((row) => Math.max(0, ...row.filter(real).map((v) => sizes.get(v)[0])));
  const centres = [MARGIN + widths[0] / 2];
  for (let at = 1; at < rows.length; at++) {
    let steepest = 0;
    for (const v of rows[at - 1])
      for (const u of right.get(v) ?? [])
        steepest = Math.max(steepest, Math.abs(y.get(u) - y.get(v)));
    centres.push(
      centres[at - 1] +
        widths[at - 1] / 2 +
        LAYER_GAP +
        Math.min(70, 0.12 * steepest) +
        widths[at] / 2,
    );
  }
  let top = Infinity,
    bottom = -Infinity;
  for (const [v, at] of y) {
    top = Math.min(top, at - height(v) / 2);
    bottom = Math.max(bottom, at + height(v) / 2);
  }
  for (const [v, at] of y) y.set(v, at - top + MARGIN);
  const nodes = {};
  for (const id of ids)
    nodes[id] = {
      x: centres[layer.get(id)],
      y: y.get(id),
      w: widths[layer.get(id)],
      h: height(id),
    };
  return {
    width: centres.at(-1) + widths.at(-1) / 2 + MARGIN,
    height: bottom - top + 2 * MARGIN,
    nodes,
    edges: routes(edges, layer, nodes, y, centres, widths, lane),
  };
}

function layersOf(ids, edges, floating) {
  const into = new Map(ids.map((id) => [id, []])),
    out = new Map(ids.map((id) => [id, []])),
    early = new Map();
  for (const e of edges) {
    into.get(e.dst).push(e.src);
    out.get(e.src).push(e.dst);
  }
  for (const id of ids) early.set(id, 1 + Math.max(-1, ...into.get(id).map((u) => early.get(u))));
  // What is computed from sources in one step, or from constants in any number of steps, may stand
  // just before its first use.
  const late = new Map(early),
    fixed = new Set(floating),
    light = new Set();
  for (const id of ids) {
    const from = into.get(id);
    if (from.length && from.every((u) => fixed.has(u))) fixed.add(id);
    if (from.length && (fixed.has(id) || from.every((u) => !into.get(u).length))) light.add(id);
  }
  const users = (layer, id) => out.get(id).map((u) => layer.get(u));
  for (const id of [...ids].reverse())
    if (light.has(id) && out.get(id).length)
      late.set(id, Math.max(late.get(id), Math.min(...users(late, id)) - 1));
  for (const layer of [early, late])
    for (const id of ids)
      if (floating.has(id) && !into.get(id).length && out.get(id).length)
        layer.set(id, Math.max(0, Math.min(...users(layer, id)) - 1));
  const length = (layer) =>
    ids.reduce(
      (sum, id) =>
        sum + (out.get(id).length ? Math.max(...users(layer, id)) - layer.get(id) - 1 : 0),
      0,
    );
  return length(late) < SAVES * length(early) ? late : early;
}

function order(rows, left, right) {
  const place = (row) => new Map(row.map((v, i) => [v, i]));
  let best = rows.map((row) => [...row]),
    fewest = crossings(rows, right, place);
  for (let sweep = 0; sweep < SWEEPS && fewest; sweep++) {
    const on = sweep % 2 === 0,
      near = on ? left : right;
    for (let i = 1; i < rows.length; i++) {
      const at = on ? i : rows.length - 1 - i,
        beside = place(rows[on ? at - 1 : at + 1]),
        key = new Map();
      rows[at].forEach((v, j) => {
        const found = (near.get(v) ?? []).map((u) => beside.get(u)).filter((p) => p !== undefined);
        key.set(v, found.length ? found.reduce((a, b) => a + b, 0) / found.length : j);
      });
      rows[at].sort((a, b) => key.get(a) - key.get(b));
    }
    const now = crossings(rows, right, place);
    if (now < fewest) [best, fewest] = [rows.map((row) => [...row]), now];
  }
  best.forEach((row, i) => {
    rows[i] = row;
  });
}

function crossings(rows, right, place) {
  let total = 0;
  for (let at = 0; at + 1 < rows.length; at++) {
    const beside = place(rows[at + 1]),
      seen = [];
    for (const v of rows[at]) {
      const ends = (right.get(v) ?? []).map((u) => beside.get(u)).filter((p) => p !== undefined);
      for (const end of ends) total += seen.filter((other) => other > end).length;
      seen.push(...ends);
    }
  }
  return total;
}

function positions(rows, left, right, height, real) {
  const y = new Map();
  const stack = (row) => {
    const out = [0];
    for (let i = 1; i < row.length; i++)
      out.push(
        out[i - 1] +
          (height(row[i - 1]) + height(row[i])) / 2 +
          (real(row[i - 1]) && real(row[i]) ? NODE_GAP : LANE_GAP),
      );
    return out;
  };
  for (const row of rows) {
    const at = stack(row);
    row.forEach((v, i) => y.set(v, at[i] - at.at(-1) / 2));
  }
  const settle = (row, sides) => {
    const wanted = [],
      weights = [];
    for (const v of row) {
      let total = 0,
        weight = 0;
      for (const side of sides)
        for (const u of side.get(v) ?? []) {
          const w = real(v) || real(u) ? 1 : 8; // keep passing edges straight
          total += w * y.get(u);
          weight += w;
        }
      wanted.push(weight ? total / weight : y.get(v));
      weights.push(weight || 0.01);
    }
    fitted(wanted, weights, stack(row)).forEach((at, i) => y.set(row[i], at));
  };
  for (let sweep = 0; sweep < SWEEPS / 2; sweep++) {
    for (const row of rows.slice(1)) settle(row, [left]);
    for (const row of rows.slice(0, -1).reverse()) settle(row, [right]);
  }
  for (let sweep = 0; sweep < 2; sweep++) for (const row of rows) settle(row, [left, right]);
  return y;
}

// Nearest positions that keep order and distances: isotonic regression by pooling adjacent
// violators.
function fitted(wanted, weights, stack) {
  const blocks = [];
  wanted.forEach((target, i) => {
    blocks.push([weights[i] * (target - stack[i]), weights[i], 1]);
    while (
      blocks.length > 1 &&
      blocks.at(-2)[0] / blocks.at(-2)[1] > blocks.at(-1)[0] / blocks.at(-1)[1]
    ) {
      const [total, weight, count] = blocks.pop(),
        last = blocks.at(-1);
      last[0] += total;
      last[1] += weight;
      last[2] += count;
    }
  });
  return blocks
    .flatMap(([total, weight, count]) => Array(count).fill(total / weight))
    .map((z, i) => z + stack[i]);
}

function routes(edges, layer, nodes, y, centres, widths, lane) {
  const leave = new Map(),
    enter = new Map(),
    trunk = new Map(),
    out = {};
  const put = (map, id, entry) => map.set(id, [...(map.get(id) ?? []), entry]);
  const way = (e) =>
    Array.from(
      { length: Math.max(0, layer.get(e.dst) - layer.get(e.src) - 1) },
      (_, i) => layer.get(e.src) + 1 + i,
    );
  edges.forEach((e, i) => {
    const points = way(e),
      first = points.length ? lane(e.src, points[0]) : null;
    if (!first) put(leave, e.src, [y.get(e.dst), i, e.id]);
    else if (!trunk.has(first)) {
      trunk.set(first, e.id);
      put(leave, e.src, [y.get(first), i, e.id]);
    }
    put(enter, e.dst, [points.length ? y.get(lane(e.src, points.at(-1))) : y.get(e.src), i, e.id]);
  });
  const ports = (map) => {
    const at = new Map();
    for (const [id, ends] of map) {
      ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const gap = Math.min(PORT_GAP, (nodes[id].h - 16) / Math.max(1, ends.length));
      ends.forEach(([, , name], i) => at.set(name, (i - (ends.length - 1) / 2) * gap));
    }
    return at;
  };
  const start = ports(leave),
    stop = ports(enter),
    round = (v) => Math.round(v * 10) / 10;
  for (const e of edges) {
    const a = nodes[e.src],
      b = nodes[e.dst],
      points = way(e);
    const port = points.length ? trunk.get(lane(e.src, points[0])) : e.id,
      line = [[a.x + a.w / 2, a.y + start.get(port)]];
    for (const at of points) {
      const half = Math.max(widths[at] / 2, 1),
        level = y.get(lane(e.src, at));
      line.push([centres[at] - half, level], [centres[at] + half, level]);
    }
    line.push([b.x - b.w / 2, b.y + stop.get(e.id)]);
    out[e.id] = { points: line.map(([px, py]) => [round(px), round(py)]) };
  }
  return out;
}
