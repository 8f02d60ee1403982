// What a step reads of nodes outside of what is seen of the graph: its name and its value, at the
// end of the edge that leads there, or as near as there is free space.

import constants from "./constants.json" with { type: "json" };
import { waypoints } from "./cards.js";
import { s } from "./dom.js";
import { key, nodesOf } from "./fold.js";
import { labelOf, plain, symbolRuns } from "./formulas.js";
import { around, meet } from "./labels.js";
import { brief } from "./summaries.js";

const { letter: UNSEEN_LETTER, sides: UNSEEN_SIDES, tall: UNSEEN_TALL } = constants.number.sizes[0];
const UNSEEN_RIM = 8, // between such a number and the end of what is seen
  UNSEEN_CLEAR = 3, // and from what stands there
  PLACES_APART = 6, // those tried where no place on the way is free
  CUT_LITTLE = 12, // of a card that still shows its numbers
  POINTS_TRIED = 40; // tried on the way to a node without such an edge
const WRITTEN = "text, .mg-mark, .mg-heat, .mg-kept"; // of a card
const ACCENT_OF = { d: "dot", g: "bar" };

const boxAround = (e) => {
  const [x, y, w, tall] = ["x", "y", "width", "height"].map((name) => +e.getAttribute(name));
  return around(x + w / 2, y + tall / 2, w, tall);
};
const middleOf = ({ x0, y0, x1, y1 }) => [(x0 + x1) / 2, (y0 + y1) / 2];
const lineTo = ([ax, ay], [bx, by]) =>
  Array.from({ length: POINTS_TRIED + 1 }, (_, i) => [
    ax + ((bx - ax) * i) / POINTS_TRIED,
    ay + ((by - ay) * i) / POINTS_TRIED,
  ]);
// Middles of numbers of such a width, all over what is seen.
function everywhere({ x0, y0, x1, y1 }, width) {
  const found = [],
    across = UNSEEN_RIM + width / 2,
    down = UNSEEN_RIM + UNSEEN_TALL / 2;
  for (let y = y0 + down; y <= y1 - down; y += PLACES_APART)
    for (let x = x0 + across; x <= x1 - across; x += PLACES_APART) found.push([x, y]);
  return found;
}
const nearTo =
  ([x, y]) =>
  ([a, b], [c, d]) =>
    Math.hypot(a - x, b - y) - Math.hypot(c - x, d - y);

// step: false where none is told; left, top: where what is seen begins, in units of the picture.
// Long: each number is placed between the cards and the numbers before it.
export function sayUnseen({ graph, trace, t, stateAt, at }, step, [left, top]) {
  const { svg, scroll } = graph,
    state = stateAt(at()),
    labels = svg.lastChild,
    byId = nodesOf(trace),
    { width: wide, height: high } = svg.viewBox.baseVal,
    zoom = svg.getAttribute("width") / wide;
  labels.querySelectorAll(".mg-unseen").forEach((one) => one.remove());
  const seen = {
    ...{ x0: left, y0: top },
    x1: Math.min(wide, left + scroll.clientWidth / zoom),
    y1: Math.min(high, top + scroll.clientHeight / zoom),
  };
  const cards = graph.cards(),
    boxOf = (id) => {
      const card = cards.get(graph.stands(id))?.group.querySelector(".mg-card:not(.mg-pile)");
      return card && boxAround(card);
    };
  const whole = ({ x0, y0, x1, y1 }) =>
    Math.min(x0 - seen.x0, y0 - seen.y0, seen.x1 - x1, seen.y1 - y1) >= -CUT_LITTLE;
  const own = boxOf(step?.node);
  if (!own || !meet(own, seen)) return;
  let taken, written; // by cards, and by what is written in them; by other numbers and shapes
  for (const [id, column] of step.reads ?? []) {
    const there = boxOf(id),
      value = state.get(key(id, column));
    if (!there || value === undefined || whole(there)) continue;
    if (!taken) {
      const corner = svg.getBoundingClientRect(),
        drawn = (e) => {
          const { left: x, top: y, right, bottom } = e.getBoundingClientRect(),
            [x0, x1] = [x, right].map((one) => (one - corner.left) / zoom);
          return { x0, x1, y0: (y - corner.top) / zoom, y1: (bottom - corner.top) / zoom };
        };
      const all = (name) => [...svg.querySelectorAll(name)].map(drawn),
        near = [...cards.keys()].filter((id) => meet(boxOf(id), seen)),
        others = all(".mg-shape, .mg-label rect").filter((one) => meet(one, seen));
      taken = near.map(boxOf).concat(others);
      written = near
        .flatMap((id) => [...cards.get(id).group.querySelectorAll(WRITTEN)])
        .map(drawn)
        .concat(others);
    }
    const name = plain(symbolRuns({ ...labelOf(byId.get(id)), accent: ACCENT_OF[column] })),
      text = `${name} = ${brief(value, t)}`,
      width = Array.from(text).length * UNSEEN_LETTER + UNSEEN_SIDES;
    const wire = (step.edges ?? [])
      .map(graph.wire)
      .find((one) => one?.ends.includes(graph.stands(id)));
    let way = wire ? waypoints(wire.points) : lineTo(middleOf(there), middleOf(own));
    if (wire && wire.ends[0] !== graph.stands(id)) way = way.toReversed();
    const inside = way.filter(([x, y]) => meet(around(x, y, 0, 0), seen)),
      kept = (at, low, high, size) =>
        Math.max(low + size / 2 + UNSEEN_RIM, Math.min(high - size / 2 - UNSEEN_RIM, at)),
      fitting = ([x, y]) => [
        kept(x, seen.x0, seen.x1, width),
        kept(y, seen.y0, seen.y1, UNSEEN_TALL),
      ];
    const places = (inside.length ? inside : way).map(fitting),
      clear = (others) => (place) => {
        const box = around(...place, width + 2 * UNSEEN_CLEAR, UNSEEN_TALL + 2 * UNSEEN_CLEAR);
        return !others.some((other) => meet(box, other));
      };
    let all; // many, so made only where none on the way is free
    const elsewhere = () => (all ??= everywhere(seen, width).sort(nearTo(places[0]))),
      place =
        places.find(clear(taken)) ??
        elsewhere().find(clear(taken)) ??
        elsewhere().find(clear(written));
    if (!place) continue; // the formula has it, too
    const [x, y] = place,
      box = around(x, y, width, UNSEEN_TALL);
    taken.push(box);
    written.push(box);
    labels.append(
      s(
        "g",
        { class: `mg-label mg-unseen mg-c-${column}` },
        s("rect", { x: box.x0, y: box.y0, width, height: UNSEEN_TALL, rx: UNSEEN_TALL / 2 }),
        s("text", { x, y: y + 4 }, text),
      ),
    );
  }
}
