// The shapes that travel along the wires, as notes at their beginnings: where each stands so that
// it touches no wire and no card. Above the first of the wires that it is about, between two of
// them, or below the last; in narrower letters where another wire crosses behind it; or else
// further along one of them. The same places as in viz/notes.py.

import { turnOf, waypoints } from "./cards.js";
import { s } from "./dom.js";

const NOTE_WIDTH = 6.4,
  LEAST_ROOM = 24,
  ABOVE = 7,
  BELOW = 15,
  MIDDLE = 3.5,
  ASCENT = 9,
  DESCENT = 3; // of a note's line of letters
const FIRST = 7,
  GAP = 14; // before a note, and before and behind it together
// the arrow's point that an adjoint has at a wire's beginning
const NOTE_TIP = { after: 11, across: 4 };
const SQUEEZED = [0.85, 0.7];
const BACK = 12,
  HIGHER = 4,
  SHIFT = 30,
  MOST_SHIFTS = 5; // above a way back between two lines, from its right end to the left
const MORE = 3,
  FARTHEST = 20; // along a wire, in points of it
const CELL = 256;

const letters = (note) => Array.from(note).length;
const overlap = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
export const noteBox = ({ note, x, y, room }) => ({
  x0: x,
  x1: x + Math.min(room, NOTE_WIDTH * letters(note)),
  y0: y - ASCENT,
  y1: y + DESCENT,
});
const pairs = (all) => all.slice(1).map((one, i) => [all[i], one]);

// What stands in a picture, found by its place: the wires (their points), and the boxes of what a
// note should not meet.
function standingThings(wires, boxes) {
  const cells = new Map(),
    along = new Map();
  const under = ({ x0, y0, x1, y1 }) => {
    const found = [];
    for (let i = Math.floor(x0 / CELL); i <= Math.floor(x1 / CELL); i++)
      for (let j = Math.floor(y0 / CELL); j <= Math.floor(y1 / CELL); j++) found.push(`${i} ${j}`);
    return found;
  };
  const add = (box) => {
    for (const cell of under(box)) {
      if (!cells.has(cell)) cells.set(cell, []);
      cells.get(cell).push(box);
    }
  };
  for (const points of wires) {
    // between two of its points a wire keeps to their box
    for (const [[a, b], [c, d]] of pairs(points))
      add({
        points,
        x0: Math.min(a, c) - 1,
        y0: Math.min(b, d) - 1,
        x1: Math.max(a, c) + 1,
        y1: Math.max(b, d) + 1,
      });
  }
  boxes.forEach(add);
  const pointsOf = (points) => {
    if (!along.has(points)) along.set(points, waypoints(points));
    return along.get(points);
  };
  // 0 where nothing stands; else how much of it: each box counts like five points of a wire.
  const cost = (box) => {
    const met = new Set(
      under(box)
        .flatMap((cell) => cells.get(cell) ?? [])
        .filter((one) => overlap(one, box)),
    );
    const crossing = new Set([...met].flatMap(({ points }) => (points ? [points] : [])));
    const dots = [...crossing]
      .flatMap(pointsOf)
      .filter(([x, y]) => x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1);
    return dots.length + 5 * [...met].filter(({ points }) => !points).length;
  };
  return { add, cost };
}

/**
 * All notes of a picture. leaving: Map of node -> [{points, note}], its wires with what each says;
 * cards: boxes. Returns a Map of node -> its notes.
 */
export function placeNotes(leaving, cards) {
  const wires = [...leaving.values()].flat();
  if (!wires.some(({ note }) => note)) return new Map();
  const tip = ({ points: [[x, y]] }) => ({
    x0: x,
    y0: y - NOTE_TIP.across,
    x1: x + NOTE_TIP.after,
    y1: y + NOTE_TIP.across,
  });
  const standing = standingThings(
    wires.map(({ points }) => points),
    [...cards, ...wires.map(tip)],
  );
  return new Map([...leaving].map(([id, own]) => [id, notesOf(own, standing)]));
}

function notesOf(wires, standing) {
  const groups = new Map(),
    sorted = [...wires].sort((a, b) => a.points[0][1] - b.points[0][1]),
    ports = sorted.map(({ points }) => points[0][1]);
  for (const { points, note } of sorted)
    if (note) groups.set(note, [...(groups.get(note) ?? []), points]);
  return [...groups].map(([note, all], i) => {
    const [first] = all,
      turn = turnOf(first),
      x = first[0][0] + FIRST,
      found = [];
    if (turn === 2) {
      const left = first[turn][0] - BACK - NOTE_WIDTH * letters(note);
      for (let k = 0; k < MOST_SHIFTS; k++)
        found.push({ note, x: left - SHIFT * k, y: first[turn][1] - HIGHER, room: Infinity });
    } else {
      const room = Math.max(
          LEAST_ROOM,
          Math.min(...all.map((points) => points[1][0])) - x + FIRST - GAP,
        ),
        long = Math.min(room, NOTE_WIDTH * letters(note));
      const levels = levelsOf(
        all.map((points) => points[0][1]),
        ports,
        i > 0 && i === groups.size - 1,
      );
      for (const one of [room, ...SQUEEZED.map((share) => Math.max(LEAST_ROOM, long * share))])
        found.push(...levels.map((y) => ({ note, x, y, room: one })));
      for (const points of all)
        found.push(
          ...besideWire(points).map(([left, y]) => ({ note, x: left, y, room: Infinity })),
        );
    }
    const best = firstClear(found, standing);
    standing.add(noteBox(best));
    return best;
  });
}

// Heights at which a note may stand, the best first. own: where its wires begin, ports: where all
// of the node's do, from above.
function levelsOf(own, ports, last) {
  const above = own[0] - ABOVE,
    below = own.at(-1) + BELOW,
    between = ([a, b]) => (a + b) / 2 + MIDDLE;
  const beside = pairs(ports)
    .filter(([a, b]) => own.includes(a) || own.includes(b))
    .map(between);
  return [last ? below : above, ...pairs(own).map(between), last ? above : below, ...beside];
}

// Places for a note above and below a wire, further and further from its beginning.
function besideWire(points) {
  const along = waypoints(points).filter((_, i) => i && i % MORE === 0 && i < MORE * FARTHEST);
  return along.flatMap(([x, y]) => [-ABOVE, BELOW].map((off) => [x + FIRST, y + off]));
}

// The first note that meets nothing, or else the one that meets least.
function firstClear(found, standing) {
  let best = null;
  for (const note of found) {
    const cost = standing.cost(noteBox(note));
    if (!best || cost < best.cost) best = { cost, note };
    if (!cost) break;
  }
  return best.note;
}

export function drawNote({ note, x, y, room }) {
  const squeezed = letters(note) * NOTE_WIDTH > room && {
    textLength: Math.round(room),
    lengthAdjust: "spacingAndGlyphs",
  };
  return s("text", { x, y, class: "mg-shape", "aria-hidden": "true", ...squeezed }, note);
}
