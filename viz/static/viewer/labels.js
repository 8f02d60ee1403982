// The number on a wire (the local derivative): where it stands so that wire, arrow's point, cards
// and other numbers stay in sight. On the wire where enough of the wire is left at its two ends,
// else beside it, else a little further away with a line that leads to it.

import constants from "./constants.json" with { type: "json" };
import { turnOf, waypoints } from "./cards.js";

// What the lengths mean is said in viz/labels.py.
const { sizes: SIZES, stub: STUB, clear: CLEAR, tip: TIP, cut: CUT } = constants.number;
const { near: NEAR, far: FAR, more: FURTHER, shifts: SHIFTS, along: ALONG } = constants.number;

export const meet = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
const covered = (a, b) =>
  Math.max(0, Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0)) *
  Math.max(0, Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0));
const grown = ({ x0, y0, x1, y1 }, by) => ({ x0: x0 - by, y0: y0 - by, x1: x1 + by, y1: y1 + by });
export const around = (x, y, w, h) => ({
  x0: x - w / 2,
  y0: y - h / 2,
  x1: x + w / 2,
  y1: y + h / 2,
});
const within = ([x, y], box) => x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1;

// The part of a wire that no other wire shares, as a rule: what leads into its end; between two
// lines the part that runs left. With the points along it.
function partOf(points, own) {
  const turn = turnOf(points);
  if (turn < 0) {
    const [[left], [right]] = points.slice(-2);
    return { left, right, middle: (left + right) / 2, along: own.filter(([x]) => x >= left) };
  }
  const [right, level] = points[turn],
    [left] = points[turn + 2],
    many = Math.ceil((right - left) / 5);
  return {
    left,
    right,
    middle: points[turn + 1][0],
    along: Array.from({ length: many + 1 }, (_, i) => [left + ((right - left) * i) / many, level]),
  };
}

/**
 * text: what stands there; points: the wire's; others: the points of all other wires, busy: of
 * those that the step lights; boxes: of cards, shapes and numbers, which it should not cover;
 * area: {width, height} of the picture. Returns {x, y, width, height, small, lead?}: the middle,
 * and where a line leads to.
 * Long: the stages of one algorithm, each used once.
 */
export function placeLabel(text, points, others, busy, boxes, area) {
  const own = waypoints(points),
    { left, right, middle, along: onWire } = partOf(points, own);
  const nearest = (x) =>
      onWire.reduce(
        (best, p) => (Math.abs(p[0] - x) < Math.abs(best[0] - x) ? p : best),
        onWire[0],
      ),
    at = nearest(middle);
  const region = around(at[0], at[1], 2 * NEAR, 2 * NEAR),
    length = Array.from(text).length;
  const ends = [points[0], points.at(-1)].flatMap(([x, y], i) => [
    i
      ? { x0: x - TIP.before, x1: x, y0: y - TIP.across, y1: y + TIP.across }
      : { x0: x, x1: x + TIP.before, y0: y - TIP.across, y1: y + TIP.across },
  ]);
  const cut = {
    x0: points[0][0],
    x1: points[0][0] + CUT.after,
    y0: points[0][1] - CUT.across,
    y1: points[0][1] + CUT.across,
  };
  const solid = [...boxes, ...ends, cut].filter((box) => meet(box, region));
  const reaching = (wires) =>
    wires
      .flatMap((wire) => (meet(boundsOf(wire), region) ? waypoints(wire) : []))
      .filter((p) => within(p, region));
  const dots = reaching(others),
    litDots = reaching(busy.filter((one) => one !== points));
  const sizes = SIZES.map(({ letter, sides, tall }, small) => ({
    width: length * letter + sides,
    height: tall,
    small: small > 0,
  }));
  const inside = (box) =>
    box.x0 >= 1 && box.y0 >= 1 && box.x1 <= area.width - 1 && box.y1 <= area.height - 1;
  let best = null;
  // What a number there would cover: least of all a wire at work, then cards, then other wires.
  // Counted until it is no better than the best so far: there are hundreds of places.
  const cost = (box, mine) => {
    const near = grown(box, CLEAR - 1),
      far = grown(box, CLEAR);
    let sum = inside(box) ? 0 : 1000;
    const count = (points, area, each) => {
      for (const p of points) {
        if (sum >= best?.cost) return;
        if (within(p, area)) sum += each;
      }
    };
    for (const one of solid) if (meet(near, one)) sum += 5 + covered(near, one) / 10;
    if (mine) count(own, near, 100);
    count(litDots, far, 100);
    count(dots, far, 1);
    return sum;
  };
  const tried = (size, x, y, mine, lead) => {
    const found = cost(around(x, y, size.width, size.height), mine);
    if (!best || found < best.cost) best = { cost: found, ...size, x, y, lead };
    return best.cost === 0;
  };
  // Just clear of the wire, above or below, where the wire passes under the number's whole width;
  // further away by `more`.
  const beside = (size, x, more) => {
    const low = x - size.width / 2 - CLEAR,
      high = x + size.width / 2 + CLEAR,
      heights = onWire.filter(([px]) => px >= low && px <= high).map(([, y]) => y);
    if (!heights.length) heights.push(nearest(x)[1]);
    const lead = more > FURTHER ? at : undefined,
      off = size.height / 2 + CLEAR + 1 + more;
    return (
      tried(size, x, Math.min(...heights) - off, true, lead) ||
      tried(size, x, Math.max(...heights) + off, true, lead)
    );
  };
  const from = left + STUB + sizes[0].width / 2,
    to = right - STUB - sizes[0].width / 2;
  if (from <= to)
    for (const shift of ALONG)
      if (tried(sizes[0], ...nearest(Math.min(to, Math.max(from, middle + shift))), false))
        return best;
  for (const size of sizes)
    for (const shift of SHIFTS) if (beside(size, middle + shift, 0)) return best;
  for (let more = FURTHER; more < FAR; more += FURTHER)
    for (const size of more > 3 * FURTHER ? [...sizes].reverse() : sizes)
      for (const shift of SHIFTS) if (beside(size, middle + shift, more)) return best;
  return best;
}

const boundsOf = (points) => ({
  x0: Math.min(...points.map(([x]) => x)),
  x1: Math.max(...points.map(([x]) => x)),
  y0: Math.min(...points.map(([, y]) => y)) - 1,
  y1: Math.max(...points.map(([, y]) => y)) + 1,
});
