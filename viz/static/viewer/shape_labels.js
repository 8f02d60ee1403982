// The shapes that travel along the edges, written at their beginnings: where each stands so that
// it touches no edge and no card. Above the first of the edges that it is about, between two of
// them, or below the last; in narrower letters where another edge crosses behind it; or else
// further along one of them. The same places as in viz/shape_labels.py.

import { shapeText } from "./array_text.js";
import constants from "./constants.json" with { type: "json" };
import { pieces, turnOf, waypoints } from "./cards.js";
import { s } from "./dom.js";

// What the lengths mean is said in viz/shape_labels.py.
const { letter: LETTER, space: LEAST_SPACE, squeezed: SQUEEZED } = constants.shape;
const { above: ABOVE, below: BELOW, middle: MIDDLE } = constants.shape;
const { ascent: ASCENT, descent: DESCENT, before: BEFORE, gap: GAP } = constants.shape;
const { tip: SHAPE_TIP, back: BACK, higher: HIGHER } = constants.shape;
const { cell: CELL, fine: FINE, short: SHORT } = constants.shape;
const { shift: SHIFT, shifts: MOST_SHIFTS, stride: STRIDE, farthest: FARTHEST } = constants.shape;

// What a wire says of the array that it carries; where one value serves many places, both shapes.
export function edgeShape(edge, from, to) {
  if (edge.broadcast) return `${shapeText(from.shape ?? [])} ⇒ ${shapeText(to.shape ?? [])}`;
  return from?.shape?.length ? shapeText(from.shape) : "";
}

const letters = (shape) => Array.from(shape).length;
const overlap = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
export const shapeBox = ({ shape, x, y, space }) => ({
  x0: x,
  x1: x + Math.min(space, LETTER * letters(shape)),
  y0: y - ASCENT,
  y1: y + DESCENT,
});
const pairs = (all) => all.slice(1).map((one, i) => [all[i], one]);

// What stands in a picture, found by its place: the edges (of short pieces the box, of long ones
// the points), and the boxes of what a shape should not meet.
function standingThings(edges, boxes) {
  const cells = new Map(),
    along = new Map();
  const under = ({ x0, y0, x1, y1 }, size, sign = " ") => {
    const found = [];
    for (let i = Math.floor(x0 / size); i <= Math.floor(x1 / size); i++)
      for (let j = Math.floor(y0 / size); j <= Math.floor(y1 / size); j++) found.push(i + sign + j);
    return found;
  };
  const put = (cell, one) => {
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(one);
  };
  const add = (box) => under(box, CELL).forEach((cell) => put(cell, box));
  const piecesOf = (points) => {
    if (!along.has(points)) along.set(points, pieces(points));
    return along.get(points);
  };
  for (const points of edges) {
    // between two of its points an edge keeps to their box
    pairs(points).forEach(([[a, b], [c, d]], k) => {
      const box = { points, k, x0: Math.min(a, c) - 1, y0: Math.min(b, d) - 1 };
      box.x1 = Math.max(a, c) + 1;
      box.y1 = Math.max(b, d) + 1;
      if (under(box, CELL).length <= SHORT) add(box);
      else
        for (const point of piecesOf(points)[k])
          put(Math.floor(point[0] / FINE) + "," + Math.floor(point[1] / FINE), point);
    });
  }
  boxes.forEach(add);
  // 0 where nothing stands; else how much of it, or at least most: each box counts like five points
  // of an edge.
  const cost = (box, most) => {
    const within = (all = []) =>
      all.filter(([x, y]) => x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1).length;
    const met = new Set(under(box, CELL).flatMap((cell) => cells.get(cell) ?? []));
    let sum = 0;
    for (const one of met)
      if (overlap(one, box)) sum += one.points ? within(piecesOf(one.points)[one.k]) : 5;
    for (const cell of under(box, FINE, ",")) if (sum < most) sum += within(cells.get(cell));
    return sum;
  };
  return { add, cost };
}

/**
 * All shape labels of a picture. leaving: Map of node -> [{points, shape, one}], the points of its
 * edges, what each says, and the edges; cards: boxes. Returns a Map of node -> its shape labels.
 */
export function placeShapes(leaving, cards) {
  const edges = [...leaving.values()].flat();
  if (!edges.some(({ shape }) => shape)) return new Map();
  const tip = ({ points: [[x, y]] }) => ({
    x0: x,
    y0: y - SHAPE_TIP.across,
    x1: x + SHAPE_TIP.after,
    y1: y + SHAPE_TIP.across,
  });
  const standing = standingThings(
    edges.map(({ points }) => points),
    [...cards, ...edges.map(tip)],
  );
  return new Map([...leaving].map(([id, own]) => [id, shapesOf(own, standing)]));
}

function shapesOf(edges, standing) {
  const groups = new Map(),
    sorted = [...edges].sort((a, b) => a.points[0][1] - b.points[0][1]),
    ports = sorted.map(({ points }) => points[0][1]);
  for (const { points, shape } of sorted)
    if (shape) groups.has(shape) ? groups.get(shape).push(points) : groups.set(shape, [points]);
  return [...groups].map(([shape, all], i) => {
    const [first] = all,
      turn = turnOf(first),
      x = first[0][0] + BEFORE,
      found = [];
    if (turn === 2) {
      const left = first[turn][0] - BACK - LETTER * letters(shape);
      for (let k = 0; k < MOST_SHIFTS; k++)
        found.push({ shape, x: left - SHIFT * k, y: first[turn][1] - HIGHER, space: Infinity });
    } else {
      const space = Math.max(
          LEAST_SPACE,
          Math.min(...all.map((points) => points[1][0])) - x + BEFORE - GAP,
        ),
        long = Math.min(space, LETTER * letters(shape));
      const levels = levelsOf(
        all.map((points) => points[0][1]),
        ports,
        i > 0 && i === groups.size - 1,
      );
      for (const one of [space, ...SQUEEZED.map((share) => Math.max(LEAST_SPACE, long * share))])
        found.push(...levels.map((y) => ({ shape, x, y, space: one })));
      for (const points of all)
        found.push(
          ...besideEdge(points).map(([left, y]) => ({ shape, x: left, y, space: Infinity })),
        );
    }
    const best = firstClear(found, standing);
    standing.add(shapeBox(best));
    const { one } = edges.find((edge) => edge.shape === shape);
    return { ...best, of: one.all[0].broadcast ? one.dst : one.src }; // whose shape it tells
  });
}

// Heights at which a shape may stand, the best first. own: where its edges begin, ports: where all
// of the node's do, from above.
function levelsOf(own, ports, last) {
  const above = own[0] - ABOVE,
    below = own.at(-1) + BELOW,
    between = ([a, b]) => (a + b) / 2 + MIDDLE;
  const mine = new Set(own),
    beside = pairs(ports)
      .filter(([a, b]) => mine.has(a) || mine.has(b))
      .map(between);
  return [last ? below : above, ...pairs(own).map(between), last ? above : below, ...beside];
}

// Places for a shape above and below a edge, further and further from its beginning.
function besideEdge(points) {
  const along = waypoints(points).filter((_, i) => i && i % STRIDE === 0 && i < STRIDE * FARTHEST);
  return along.flatMap(([x, y]) => [-ABOVE, BELOW].map((off) => [x + BEFORE, y + off]));
}

// The first shape that meets nothing, or else the one that meets least.
function firstClear(found, standing) {
  let best = null;
  for (const shape of found) {
    const cost = standing.cost(shapeBox(shape), best?.cost ?? Infinity);
    if (!best || cost < best.cost) best = { cost, shape };
    if (!cost) break;
  }
  return best.shape;
}

// Where its letters would be too narrow to be read, what it is before a broadcast is left out.
export function drawShape({ shape: whole, x, y, space, of }) {
  const narrow = space < constants.shape.legible * LETTER * letters(whole),
    shape = narrow ? whole.replace(/.* ⇒/, "⇒") : whole;
  const squeezed = letters(shape) * LETTER > space && {
    textLength: Math.round(space),
    lengthAdjust: "spacingAndGlyphs",
  };
  const label = { x, y, class: "mg-shape", "data-of": of, "aria-hidden": "true" };
  return s("text", { ...label, ...squeezed }, shape);
}

// Marks what tells a shape that a question of the stage may ask for yet: the labels and the cards
// of arrays that are not computed.
export function markUntold(labels, cards, nodes) {
  const mark = ({ classList }, id, asked) => {
    const isBare = cards.get(id)?.group.classList.contains("mg-bare");
    classList.toggle("mg-untold", Boolean(asked && isBare && nodes.get(id)?.kind !== "input"));
  };
  for (const [id, { group }] of cards) mark(group, id, nodes.get(id)?.shape?.length);
  for (const label of labels) mark(label, label.dataset.of, true);
}
