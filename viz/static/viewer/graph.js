// The graph: cards and wires, groups that open, zoom and pan, what a step lights up, and the walk
// by arrow keys.

import { COMFORTABLE, LEGIBLE, SMALL } from "./arrange.js";
import constants from "./constants.json" with { type: "json" };
import { cellsBeside, legendBeside, markBeside } from "./beside.js";
import { arrangeRows, cardSize, drawCard, drawWire, stageOf } from "./cards.js";
import { h, iconButton, listenPinch, listenWheel, motion, s } from "./dom.js";
import { columnOf, keeps, key, nodesOf, unkeptOf } from "./fold.js";
import { columnName, headingRuns, plain } from "./formulas.js";
import { generationsIn } from "./generations.js";
import { drawGroup, groupBar, groupSize } from "./group_cards.js";
import { groupTree, groupsAround, openAtFirst, operationsIn, visible } from "./groups.js";
import { solve } from "./layout.js";
import { inLines, squeezed } from "./lines.js";
import { around, placeLabel } from "./labels.js";
import { drawShape, edgeShape, markUntold, placeShapes, shapeBox } from "./shape_labels.js";
import { short } from "./numbers.js";
import { factorText } from "./summaries.js";

const FLOATING = new Set(constants.layout.floating);
const MOST_OPEN = 400; // boxes that may be on view together
const SCROLLBAR = 16,
  NARROW = 600; // pixels: the space that is left for a scrollbar; a phone's box
const MOST_ZOOM = 3;
// pixels beside what is followed, where there is no space for more; and on both sides, with an edge
const NARROW_RIM = 6,
  BESIDE = 2 * NARROW_RIM + 2;
// the most steps whose views choose a scale; the nodes among which the first view is chosen
const MOST_TRIED = 78,
  FIRST = 30;
const MOST_BREAKS = 40; // lines whose breaks are marked in the strip
// widths of such a box that a graph may take before it is broken into lines
const MANY_SCREENS = 2.4;
const STROKE = constants.number.stroke; // half the stroke of a card that is written
// the shorter side of a stage at a scale of 1: a 70th of it is that of the smallest letters, 10.5
// pixels, for the last row
const STAGE = 735,
  SHRUNK = 0.8; // of that, at which the whole graph is shown all the same
const LINE_SCALES = [0.9, 0.8, 0.7], // at which lines may have the width of their box
  LINES_RIM = 2 * constants.lines.rim;
const LINE_SHARES = [0.65, 0.55, 0.45, 0.35]; // shares of its width that its lines may have there
const MARKS = ["mg-read", "mg-write", "mg-asked-for"];
const MOST_CHIPS = 6; // groups opened by the reader that are named above the graph
const LONG = 1400; // units across which most screens show no graph in one piece

// The nodes of a step: its own, then what it writes and reads.
export const touched = (step) =>
  step ? [[step.node], ...(step.writes ?? []), ...(step.reads ?? [])].map(([id]) => id) : [];

// changed(): called when groups were opened or closed. space: the width that the graph will have,
// in pixels, where that is known; groups: those that are open, where the reader has chosen them
// before; broken: whether a long graph stands in lines; following: whether the groups that a step
// is at work in are open as long as it is shown.
// Long: a closure, whose functions share these elements and the state.
export function drawGraph(
  trace,
  t,
  changed,
  { space = 0, groups: before, broken = true, following = true } = {},
) {
  const { nodes, edges, columns } = trace,
    byId = nodesOf(trace);
  const tree = groupTree(trace, t),
    open = !tree
      ? new Set()
      : before
        ? new Set(before.filter((id) => tree.groups.has(id)))
        : openAtFirst(tree);
  const under = s("g"),
    shapes = s("g"),
    over = s("g"),
    labels = s("g", { "aria-hidden": "true" });
  const svg = s(
    "svg",
    { class: "mg-svg", role: "group", "aria-label": t("graph") },
    under,
    shapes,
    over,
    labels,
  );
  const scroll = h("div", { class: "mg-scroll mg-graph" }, svg);
  const strip = s("svg", {
    class: "mg-strip-of",
    "aria-hidden": "true",
    preserveAspectRatio: "none",
  });
  const opened = h("div", { class: "mg-opened", role: "group", "aria-label": t("groups") });
  const swatch = (kind, ...more) =>
    s(
      "svg",
      { viewBox: "0 0 22 14", class: `mg-swatch mg-swatch-${kind}`, "aria-hidden": "true" },
      s("rect", { x: 2, y: 2, width: 18, height: 10, rx: 3 }),
      more,
    );
  const unkept = unkeptOf(trace),
    rowsOf = (id) => columns.filter((c) => c.key !== "v" || !unkept.has(id)),
    keeping = keeps(trace),
    frees = trace.steps.some((step) => step.free?.length);
  const growing = trace.steps.some((step) => step.add?.length);
  const theirs = cellsBeside(trace);
  let entered = [], // groups that are open because a step is at work in them
    at = null, // the step that is shown
    flat = null,
    breaks = null, // into lines, by width
    least = 0, // the width of the graph with its columns as close together as they can be
    place = null,
    onStage = false,
    joined = [],
    shown = [],
    standsFor = new Map(),
    cards = new Map(),
    wires = new Map();
  let standing = [],
    noted = []; // the boxes of cards, and of the shapes on wires: where no label should stand
  let zoom = 1,
    below = 0, // pixels below the last line, so that the first that is seen with it is whole
    byReader = false,
    entire = false, // the reader has asked to see all of it
    followed = [], // the nodes that were last brought into view
    marked = [],
    lit = [],
    tiny = new Map(),
    tinyNow = null;

  // ---- what is on view: all nodes, or boxes for the groups that are closed
  function build() {
    const seen = tree
      ? visible(tree, openNow())
      : {
          shown: nodes.map((node) => node.id),
          standsFor: new Map(nodes.map((node) => [node.id, node.id])),
        };
    ({ shown, standsFor } = seen);
    joined = joinedEdges();
    const whole = trace.layout && !shown.some((id) => tree?.groups.has(id));
    breaks = new Map();
    flat = whole ? trace.layout : arrangedBy(joined);
    least = squeezed(flat, 0).width;
    place = placed();
    draw();
  }
  const openNow = () => new Set([...open, ...entered]);
  // The groups around the node that a step writes and around the operation whose rule it applies.
  function groupsOf({ node, edges }) {
    const sender = trace.edges.find(({ id }) => id === edges?.[0])?.dst ?? node;
    return [...new Set([node, sender].flatMap((one) => groupsAround(tree, one)))];
  }
  // Shows another step (null: none). Returns whether other groups are open now.
  function attend(step) {
    at = step ?? null;
    const found = tree && following && at ? groupsOf(at) : [],
      before = openNow();
    entered = found;
    const now = openNow();
    if (now.size === before.size && [...now].every((one) => before.has(one))) return false;
    build();
    return true;
  }
  function setFollowing() {
    following = !following;
    followBox.setAttribute("aria-pressed", String(following));
    if (!following) entered.forEach((id) => open.add(id)); // what is on view stays
    entered = [];
    attend(at);
    changed();
  }
  const placed = () => (onStage ? filling() : entire ? largest() : (lines() ?? narrowed()));
  // On the stage: in one line or in several, whichever leaves the boxes larger; where none can be
  // read from the last row, as large as that needs, around the node that the step is about.
  function filling() {
    const found = largest(),
      least = leastOnStage();
    if (entire || scaleNow(found) >= SHRUNK * least) return found;
    const [across, down] = spaceNow(),
      several = inLines(flat, joined, across / least),
      one = squeezed(flat, 0),
      fits = several?.lines.every((line) => (line.bottom - line.top) * least <= down);
    // of how many steps outside of closed groups the boxes are not seen together
    const single = trace.steps.filter((step) => standsFor.get(step.node) === step.node),
      apart = ({ nodes }) =>
        single.filter((step) => scaleOf(step, across, down, nodes) < least).length;
    return fits && apart(several) <= apart(one) ? several : one;
  }
  function leastOnStage() {
    const { clientWidth, clientHeight } = scroll.closest(".mg-root");
    return Math.max(LEGIBLE, Math.min(clientWidth, clientHeight) / STAGE);
  }
  function spaceNow() {
    const strips = strip.getBoundingClientRect().height; // gone where all fits
    return [scroll.clientWidth - 2, (onStage ? scroll.clientHeight + strips : highest()) - 2];
  }
  function scaleNow({ width, height } = largest(), [across, down] = spaceNow()) {
    return Math.min(across / width, down / height);
  }
  function largest() {
    const now = spaceNow(),
      [across, down] = now,
      one = squeezed(flat, (flat.height * across) / down),
      even = Math.sqrt((flat.height * across) / flat.width / down), // lines that fill the space
      shares = [...LINE_SHARES, even, 1.2 * even, 1.4 * even],
      several = shares.map((share) => inLines(flat, joined, flat.width * share));
    return [one, ...several.filter(Boolean)].reduce((best, other) =>
      scaleNow(other, now) > scaleNow(best, now) ? other : best,
    );
  }
  // A graph that is a little too wide for its box moves closer together.
  function narrowed() {
    const across = (scroll.offsetWidth || space) - 2;
    return across > 0 ? squeezed(flat, across / COMFORTABLE) : flat;
  }
  // A graph that would be illegibly small in its box is broken into lines, as large as they can be
  // read, where all of them are seen together, or two of a long graph; one that would be small,
  // where all of them are.
  function lines(most = highest(), wide = scroll.offsetWidth || space) {
    const across = wide - SCROLLBAR,
      narrow = across < NARROW,
      far = long(across),
      small = broken && (far || (!narrow && least * SMALL > across)),
      enough = least * LEGIBLE > across ? LEGIBLE : COMFORTABLE;
    let best = null,
      rank = LEGIBLE;
    for (const scale of small ? (narrow ? [0.75] : LINE_SCALES) : []) {
      const found = inWidth(across / scale);
      if (!found) continue;
      const line = (across - 2) / found.width,
        all = seen(found, line, most),
        now = all >= enough ? 1 + all : far && seen(found, line, most, 2);
      if (now >= rank) [best, rank] = [found, now];
      if (now >= COMFORTABLE && found.lines.length > 4) break; // it is found at each step
    }
    return best;
  }
  const inWidth = (wide) =>
    (breaks.has(wide) ? breaks : breaks.set(wide, inLines(flat, joined, wide))).get(wide);
  // The height of so many lines, wherever they begin; that of all of them, or of a picture that has
  // none.
  const heightOf = ({ lines: all, height }, many) =>
    many < all?.length
      ? Math.max(...all.slice(many - 1).map(({ bottom }, i) => bottom - all[i].top)) + LINES_RIM
      : height;
  // The scale, at most that of the width, at which so many lines are seen together, or all.
  const seen = (found, width, most, many) =>
    Math.min(1, width, (most - 2) / heightOf(found, many));
  const long = (across) => flat.width * 0.9 > across * (across < NARROW ? MANY_SCREENS : 1.5);
  // Places the boxes for another width of the picture. Returns whether any of them moved.
  function rearranged(stage) {
    const turned = onStage !== stage;
    if (turned) entire = byReader = false;
    onStage = stage;
    const found = placed(),
      form = ({ lines: all, width }) => String(all?.map((line) => line.from) ?? width);
    if (!turned && form(found) === form(place)) return false;
    const focused = svg.contains(document.activeElement)
      ? document.activeElement.dataset.node
      : null;
    place = found;
    draw();
    if (focused) cards.get(focused)?.group.focus({ preventScroll: true });
    return true;
  }
  // Long: each part of the picture is built once, from back to front.
  function draw() {
    cards = new Map();
    wires = new Map();
    marked = [];
    lit = [];
    under.replaceChildren();
    over.replaceChildren();
    labels.replaceChildren();
    const leaving = new Map(); // node -> its wires, with what each says
    for (const one of joined) {
      const points = place.edges?.[one.id]?.points;
      if (!points || points.length < 2) continue;
      const first = one.all[0],
        shape = edgeShape(first, byId.get(first.src), byId.get(first.dst)),
        wire = drawWire(points, stageOf(first));
      leaving.set(one.src, [...(leaving.get(one.src) ?? []), { points, shape, one }]);
      wire.ends = [one.src, one.dst];
      for (const e of one.all) wires.set(e.id, wire);
      under.append(wire.group);
    }
    const boxes = shown.map((id) => place.nodes?.[id]).filter(Boolean),
      grown = (by) => boxes.map(({ x, y, w, h: tall }) => around(x, y, w + 2 * by, tall + 2 * by));
    const placed = placeShapes(leaving, grown(0));
    const written = [...placed.values()].flat();
    noted = written.map(shapeBox);
    shapes.replaceChildren(...written.map(drawShape));
    standing = grown(STROKE);
    for (const id of shown) {
      const box = place.nodes?.[id],
        group = tree?.groups.get(id);
      if (!box) continue;
      const card = group
        ? drawGroup(group, box, columns, t, sizeOf(group))
        : drawCard(byId.get(id), box, rowsOf(id), t, keeping);
      cards.set(id, card);
      over.append(card.group);
    }
    svg.setAttribute("viewBox", `0 0 ${place.width} ${place.height}`);
    scroll.classList.toggle("mg-inlines", Boolean(place.lines));
    strip.setAttribute("viewBox", `0 0 ${flat.width} ${flat.height}`);
    tiny = new Map(
      [...cards.keys()]
        .map((id) => [id, flat.nodes[id]])
        .map(([id, { x, y, w, h: tall }]) => [
          id,
          s("rect", { x: x - w / 2, y: y - tall / 2, width: w, height: tall }),
        ]),
    );
    const apart = (place.lines?.length > MOST_BREAKS ? [] : (place.lines ?? []))
      .slice(1)
      .map(({ from }, i) => `M${(place.lines[i].to + from) / 2} 0V${flat.height}`);
    strip.replaceChildren(
      ...tiny.values(),
      s("path", { d: apart.join(""), class: "mg-strip-break" }),
    );
    if (tree) drawOpened();
    if (cards.size) rove(cards.keys().next().value);
  }
  // The groups around the step, from the outermost in, and the others that are open, if they are
  // few.
  function drawOpened() {
    const others = [...open].filter((id) => !entered.includes(id) && ancestorsOpen(id)),
      button = (id) =>
        h(
          "button",
          {
            class: "mg-fold",
            onclick: () => toggle(id),
            "aria-expanded": "true",
            title: t("close"),
          },
          `▾ ${tree.groups.get(id).label}`,
        );
    opened.replaceChildren(
      h("span", { class: "mg-crumbs" }, entered.map(button)),
      ...(others.length > MOST_CHIPS ? [] : others.map(button)),
    );
  }
  const sizeOf = (group) =>
    `${group.times ? `${group.times} × · ` : ""}${operationsIn(group, byId, t)}`;
  const ancestorsOpen = (id) => {
    const now = openNow();
    for (let up = tree.groups.get(id).parent; up; up = up.parent)
      if (!now.has(up.id)) return false;
    return true;
  };
  // Edges between what is on view; those between the same two boxes are drawn as one.
  function joinedEdges() {
    const found = new Map();
    for (const e of edges) {
      const src = standsFor.get(e.src),
        dst = standsFor.get(e.dst);
      if (src === dst) continue;
      const single = src === e.src && dst === e.dst,
        id = single ? e.id : `${src}\u0000${dst}`;
      if (found.has(id)) found.get(id).all.push(e);
      else found.set(id, { id, src, dst, all: [e] });
    }
    return [...found.values()];
  }
  function arrangedBy(joined) {
    const sizes = new Map(
      shown.map((id) => {
        const group = tree?.groups.get(id);
        return [
          id,
          group ? groupSize(group, columns, sizeOf(group)) : cardSize(trace.layout.nodes[id]),
        ];
      }),
    );
    return solve(sizes, joined, new Set(shown.filter((id) => FLOATING.has(byId.get(id)?.kind))));
  }
  // Opens or closes a group. Returns whether it is one.
  function toggle(id) {
    const group = tree?.groups.get(id),
      focused = svg.contains(document.activeElement) || opened.contains(document.activeElement);
    if (!group) return;
    if (entered.includes(id)) {
      entered.forEach((one) => open.add(one));
      leave();
    }
    if (open.has(id)) open.delete(id);
    else {
      if (shown.length + group.items.length > MOST_OPEN)
        for (const other of [...open]) if (!within(other, id)) open.delete(other);
      open.add(id);
    }
    build();
    changed();
    const to = open.has(id)
      ? (group.items.find((item) => cards.has(item)) ?? standsFor.get(group.leaves[0]))
      : id;
    if (focused) cards.get(to)?.group.focus({ preventScroll: true });
    follow([to], false);
    return true;
  }
  // The reader decides from here on what is open.
  function leave() {
    entered = [];
    following = false;
    followBox.setAttribute("aria-pressed", "false");
  }
  function within(other, id) {
    for (let up = tree.groups.get(id); up; up = up.parent) if (up.id === other) return true;
    return false;
  }
  function toggleAll(on) {
    const limit = on && nodes.length > MOST_OPEN;
    open.clear();
    leave();
    if (limit) openAtFirst(tree).forEach((id) => open.add(id));
    else if (on) for (const id of tree.groups.keys()) open.add(id);
    build();
    changed();
  }

  // ---- zoom and place
  function zoomTo(to) {
    const { scrollLeft, clientWidth: across } = scroll,
      centre = (scrollLeft + across / 2) / zoom,
      down = spaceNow()[1]; // the strip goes where all fits
    zoom = Math.min(MOST_ZOOM, Math.max(Math.min(0.15, whole(), down / place.height), to));
    svg.setAttribute("width", Math.round(place.width * zoom));
    const fits = place.width * zoom <= across + 1,
      tall = place.height * zoom,
      scrolls = place.lines && tall > down + 3,
      end = scrolls && place.lines.find(({ top }) => tall - top * zoom < down);
    svg.setAttribute("height", Math.round(tall));
    below = end ? Math.max(0, end.top * zoom - NARROW_RIM + down - tall) : 0;
    svg.style.marginBottom = `${below}px`;
    strip.style.height = `${stripTall(across)}px`;
    if (scrollLeft || !fits) scroll.scrollLeft = centre * zoom - across / 2;
    const gone = fits && !scrolls;
    strip.classList.toggle("mg-gone", gone);
    if (!gone || onStage) showPart();
  }
  const stripTall = (across) => Math.min(24, Math.max(16, (flat.height * across) / flat.width));
  const whole = () =>
    ((place.lines ? scroll.offsetWidth - SCROLLBAR : scroll.clientWidth) - 2) / place.width;
  // The strip below a graph that is larger than its box: all of it in small, in one line, and which
  // part is seen. That is drawn as a background: a box that moved would be laid out at each scroll.
  function showPart() {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = scroll,
      within = (middle, size, from, space) =>
        (middle - size / 2) * zoom > from - 2 && (middle + size / 2) * zoom < from + space + 2;
    const seen = place.lines?.filter(({ top, bottom }) =>
      within((top + bottom) / 2, 0, scrollTop, clientHeight),
    );
    const spans = seen
      ? [[seen[0]?.from ?? 0, seen.at(-1)?.to ?? 0, flat.width]]
      : [
          [scrollLeft, scrollLeft + clientWidth, place.width * zoom],
          [scrollTop, scrollTop + clientHeight, place.height * zoom],
        ];
    const percent = (share) => spans.map((span) => `${100 * (share(...span) || 0)}%`).join(" ");
    strip.style.backgroundPosition = percent((from, to, all) => from / (all - to + from));
    strip.style.backgroundSize = percent((from, to, all) => Math.min(1, (to - from) / all));
    if (!onStage) return;
    // there what an edge cuts is faint
    for (const [id, { group }] of cards) {
      const { x, y, w, h: tall } = place.nodes[id],
        whole = within(x, w, scrollLeft, clientWidth) && within(y, tall, scrollTop, clientHeight);
      group.classList.toggle("mg-cut", !whole);
    }
  }
  scroll.addEventListener("scroll", showPart);
  const bring = (event) => {
    const { left, width } = strip.getBoundingClientRect();
    if (!(event.buttons & 1)) return;
    const x = ((event.clientX - left) / width) * flat.width,
      line = place.lines?.findLast(({ from }, i) => x >= from || !i);
    if (line) scroll.scrollTop = ((line.top + line.bottom) / 2) * zoom - scroll.clientHeight / 2;
    else scroll.scrollLeft = x * zoom - scroll.clientWidth / 2;
  };
  strip.addEventListener("pointerdown", bring);
  strip.addEventListener("pointermove", bring);
  function zoomBy(factor) {
    byReader = true;
    zoomTo(zoom * factor);
  }
  // By a key or a button: the step stays in view.
  function zoomAtStep(factor) {
    zoomBy(factor);
    if (followed.length) follow(followed, false);
  }
  const highest = () => parseFloat(getComputedStyle(scroll).maxHeight) || Infinity; // in pixels
  // All of it at once, and, asked again, back. In which lines it is largest is found, unless all
  // of it is seen as it stands.
  function fitAll() {
    const all = onStage ? scaleNow() : seen(place, whole(), highest()),
      read = !onStage && !entire && all >= LEGIBLE;
    entire = !read && Math.abs(zoom - all) > 0.005;
    byReader = false;
    changed();
  }
  // Legible first: shrink to the box only down to LEGIBLE, else scroll; never enlarge.
  function fit() {
    if (!scroll.clientWidth) return;
    const most = highest(),
      line = Math.min(1, whole()),
      all = seen(place, line, most),
      tall = (most - SCROLLBAR) / place.height; // it scrolls sideways only, if it can
    // whole lines, two at least; on a phone as large as its width allows
    let many = scroll.offsetWidth < NARROW ? 0 : place.lines?.length;
    while (many > 2 && seen(place, line, most, many) < 0.9 * line) many--;
    if (byReader) zoomTo(zoom);
    else if (entire || all >= LEGIBLE) zoomTo(all);
    else if (many || line >= LEGIBLE) zoomTo(many ? seen(place, line, most, many) : line);
    else zoomTo(even(Math.min(together(most), tall < LEGIBLE ? 1 : tall)));
  }
  // The scale at which a box shows together what any step touches, where that can be read.
  const together = (most) =>
    trace.steps.reduce((least, step) => {
      const scale = scaleOf(step, scroll.clientWidth, most);
      return scale < LEGIBLE || scale > least ? least : scale;
    }, 0.9);
  function scaleOf(step, across, down, nodes) {
    const boxes = boxesOf(touched(step), nodes),
      fitting = (space, ...along) => (space - BESIDE) / spread(boxes, ...along);
    return Math.min(fitting(across, "x", "w"), fitting(down, "y", "h"));
  }
  // Of a scale and smaller ones the first at which the ends of the box cut the fewest boxes, before
  // the first step and at all of them.
  function even(most) {
    if (trace.steps.length > MOST_TRIED) return most;
    zoomTo(most);
    const steps = [null, ...trace.steps].map((step) => boxesFor(touched(step))),
      cuts = (scale) => steps.reduce((sum, boxes) => sum + viewOf(boxes, scale)[2], 0);
    let best = most,
      fewest = Infinity;
    for (let scale = most; scale >= LEGIBLE; scale *= 0.98) {
      const found = cuts(scale);
      if (found < fewest) [best, fewest] = [scale, found];
    }
    return best;
  }
  // As large as the box allows: for the last row of a lecture hall.
  function fill() {
    if (!scroll.clientWidth || byReader) return;
    const all = scaleNow(place),
      least = leastOnStage();
    zoomTo(entire || all >= SHRUNK * least ? all : least);
  }
  listenWheel(scroll, (delta) => zoomBy(Math.exp(-delta / 300)));
  listenPinch(scroll, (factor) => zoomBy(factor));

  const boxesOf = (ids, nodes = place.nodes) =>
    ids.map((id) => nodes?.[standsFor.get(id) ?? id]).filter(Boolean);
  // Where these boxes begin and end along one axis.
  const ends = (boxes, axis, size) => [
    Math.min(...boxes.map((box) => box[axis] - box[size] / 2)),
    Math.max(...boxes.map((box) => box[axis] + box[size] / 2)),
  ];
  function spread(...along) {
    const [low, high] = ends(...along);
    return high - low;
  }
  // The boxes of these nodes; where none is on view, as before the first step, the first of all.
  function boxesFor(ids) {
    const boxes = boxesOf(ids);
    return boxes.length ? boxes : boxesOf(shown.slice(0, FIRST));
  }
  // Scroll inside the graph's own box, never the page. Returns the left and the upper end of what
  // is seen then.
  function follow(ids, smooth) {
    followed = ids;
    const { scrollLeft, scrollTop } = scroll,
      [left, top] = viewOf(boxesFor(ids), zoom, scrollLeft / zoom, scrollTop / zoom);
    scroll.scrollTo({ left: left * zoom, top: top * zoom, behavior: motion(smooth) });
    return [left, top];
  }
  // The view of these boxes at a scale: the left and the upper end of what is seen, and how many
  // boxes its ends cut. It stays where it is along an axis, at x or y, if it is as good there.
  function viewOf(boxes, scale, x, y) {
    const across = scroll.clientWidth / scale,
      down = scroll.clientHeight / scale,
      rim = NARROW_RIM / scale,
      all = Object.values(place.nodes),
      [left, cut] = along(boxes, all, "x", "w", across, rim, place.width, x),
      seen = all.filter((box) => Math.abs(box.x - left - across / 2) < (across + box.w) / 2),
      tall = place.height + below / scale,
      [top, more] = along(boxes, seen, "y", "h", down, rim, tall, left === x ? y : NaN);
    return [left, top, cut + more];
  }
  // Where a view of such a length begins along one axis of a picture, and how many of all boxes its
  // ends cut: it shows the first of these boxes and those that fit beside it, and cuts the fewest,
  // where it is now, or as near as can be to having them in the middle.
  function along(boxes, all, axis, size, space, rim, whole, now) {
    const seen = [],
      fits = (box) => spread([...seen, box], axis, size) <= space - rim;
    for (const box of boxes) if (!seen.length || fits(box)) seen.push(box);
    const [low, high] = ends(seen, axis, size),
      middle = (low + high - space) / 2,
      beside = Math.min(rim, low - middle) - 0.5,
      edges = all.map((box) => [box[axis] - box[size] / 2, box[axis] + box[size] / 2]),
      cut = (at) => edges.filter(([a, b]) => a + 0.5 < at && at < b - 0.5).length;
    return [now, middle, ...edges.flatMap(([a, b]) => [a - rim, b + rim - space])]
      .map((from) => Math.max(0, Math.min(from, whole - space)))
      .filter((from) => low - beside >= from && high + beside <= from + space)
      .map((from) => [
        from,
        1.1 * cut(from) + cut(from + space),
        from === now ? -1 : Math.abs(from - middle),
      ])
      .sort((a, b) => a[1] - b[1] || a[2] - b[2])
      .concat([[0, 0]])[0];
  }

  // Rows of the columns that are shown, from the top; the heading squeezed if this reader's fonts
  // are very wide.
  function arrange(wanted) {
    for (const card of cards.values()) arrangeRows(card, wanted);
    if (!scroll.clientWidth) return;
    const wide = [...cards.values()].filter(
      (card) => card.heading.getComputedTextLength() > card.space,
    );
    for (const { heading, space: most } of wide) {
      heading.setAttribute("textLength", most);
      heading.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  }

  // ---- a step
  // preview: the final state, of which the picture before the first step is a faint copy; asked:
  // this step is in question yet, and the node that it is about alone is marked.
  // Long: each part of the picture takes its marks of the step.
  function update(step, state, preview = null, asked = false) {
    tinyNow?.classList.remove("mg-strip-now");
    tinyNow = (step && tiny.get(standsFor.get(step.node))) ?? null;
    tinyNow?.classList.add("mg-strip-now");
    unmark();
    for (const id of shown) {
      const card = cards.get(id),
        group = tree?.groups.get(id),
        node = byId.get(group ? group.last : id),
        spoken = [];
      if (!card) continue;
      for (const column of columns) {
        const cell = key(node.id, column.key),
          value = state.get(cell);
        card.rows.get(column.key)?.show(preview?.get(cell) ?? value, theirs.shown(cell, state));
        if (value !== undefined) spoken.push(`${columnName(column, t)} ${short(value)}`);
      }
      const unborn = group
        ? group.leaves.every((leaf) => state.unborn.has(leaf))
        : state.unborn.has(id);
      if (trace.beside) markBeside(card.group, group ? group.leaves : [id], trace, theirs, state);
      card.group.classList.toggle("mg-odd", card.group.querySelector(".mg-nan"));
      card.group.classList.toggle("mg-bare", !spoken.length);
      card.group.classList.toggle("mg-unborn", unborn);
      card.group.classList.toggle("mg-freed", state.freed.has(id));
      const said = [
        spoken.join(t("comma")) || t(unborn ? "unborn" : "nothing"),
        node.dangling && !group ? t("dangling") : "",
      ]
        .filter(Boolean)
        .join(t("comma"));
      if (card.said === said) continue;
      card.said = said;
      const name = group
        ? [group.label, sizeOf(group), t("press_open")].join(t("comma"))
        : plain(headingRuns(node));
      card.group.setAttribute("aria-label", name + t("semicolon") + said);
    }
    if (growing) {
      const hidden = (id) => cards.get(id)?.group.classList.contains("mg-unborn") ?? false;
      for (const wire of wires.values())
        wire.group.classList.toggle("mg-unborn", wire.ends.some(hidden));
    }
    markUntold(shapes.children, cards, byId);
    if (!step) return;
    if (asked) {
      const { group } = cards.get(standsFor.get(step.node)) ?? {};
      group?.classList.add("mg-asked-for");
      if (group) marked.push(group);
      return;
    }
    const mark =
      (kind) =>
      ([id, column]) => {
        const card = cards.get(standsFor.get(id));
        if (!card) return;
        const own = [card.group, card.rows.get(column)?.value].filter(Boolean);
        own.forEach((element) => element.classList.add(kind));
        marked.push(...own);
      };
    (step.reads ?? []).forEach(mark("mg-read"));
    (step.writes ?? []).forEach(mark("mg-write"));
    for (const id of step.edges ?? []) {
      const wire = wires.get(id);
      if (!wire) continue;
      wire.group.classList.add("mg-lit");
      wire.point(columnOf(step) === "g" ? "backward" : "forward");
      under.append(wire.group); // on top of edges that share its way
      lit.push(wire);
    }
    const factors = new Map(); // of a wire; edges between the same two boxes share one
    for (const { edge, local } of step.contribs ?? [])
      if (local !== undefined && wires.has(edge)) {
        const wire = wires.get(edge);
        factors.set(wire, [...(factors.get(wire) ?? []), "× " + factorText(local, t)]);
      }
    const said = [...factors].map(([wire, all]) => [wire, all.join(", ")]);
    const spread = (step.edges ?? [])
      .map((id) => edges.find((e) => e.id === id))
      .find((e) => e.broadcast && wires.has(e.id));
    if (spread && columnOf(step) === "g") said.push([wires.get(spread.id), t("summed")]);
    label(said);
  }

  function unmark() {
    for (const element of marked) element.classList.remove(...MARKS);
    for (const wire of lit) {
      wire.group.classList.remove("mg-lit");
      wire.point("forward");
    }
    marked = [];
    lit = [];
    labels.replaceChildren();
  }

  // The local derivative on its edge: what the value that passes is multiplied by.
  function label(said) {
    const boxes = said.length ? [...standing, ...noted] : [],
      busy = lit.map((wire) => wire.points);
    const rest = said.length
      ? [...new Set(wires.values())]
          .filter((wire) => !lit.includes(wire))
          .map((wire) => wire.points)
      : [];
    for (const [wire, text] of said) {
      const { x, y, width, height, small, lead } = placeLabel(
        text,
        wire.points,
        rest,
        busy,
        boxes,
        place,
      );
      const pill = s("rect", {
        x: x - width / 2,
        y: y - height / 2,
        width,
        height,
        rx: height / 2,
      });
      const way =
        lead &&
        s("path", {
          class: "mg-lead",
          d: `M${x} ${y}L${lead[0]} ${lead[1]}m-2 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`,
        });
      labels.append(
        s(
          "g",
          { class: `mg-label${small ? " mg-little" : ""}` },
          way,
          pill,
          s("text", { x, y: y + (small ? 3.6 : 4) }, text),
        ),
      );
      boxes.push(around(x, y, width, height));
    }
  }

  // -- keys: the neighbour of a box in the direction of an arrow key
  function neighbour(id, arrow) {
    const box = place.nodes[id],
      ends = [...new Set(wires.values())].map((wire) => wire.ends);
    // of the same column, or of the lines above and below
    const over = (b) => Math.abs(b.x - box.x) < (place.lines ? (b.w + box.w) / 2 : 2);
    const beside = (b) => b && over(b) && (arrow === "ArrowUp" ? b.y < box.y : b.y > box.y);
    const found =
      arrow === "ArrowLeft"
        ? ends.filter(([, dst]) => dst === id).map(([src]) => src)
        : arrow === "ArrowRight"
          ? ends.filter(([src]) => src === id).map(([, dst]) => dst)
          : shown.filter((other) => beside(place.nodes[other]));
    const distance = (other) => Math.abs(place.nodes[other].y - box.y);
    return found.sort((a, b) => distance(a) - distance(b))[0];
  }
  function walk(id, arrow) {
    const next = neighbour(id, arrow);
    if (!next) return;
    cards.get(next).group.focus({ preventScroll: true });
    follow([next], true);
  }
  // One stop of the Tab key for the whole graph: the node that had the focus last.
  function rove(id) {
    for (const [other, card] of cards)
      card.group.setAttribute("tabindex", other === id ? "0" : "-1");
  }

  const { bar, followBox } = groupBar(t, opened, {
    ...{ toggleAll, setFollowing, following },
    opens: nodes.length <= MOST_OPEN,
  });
  const legend = h(
    "span",
    { class: "mg-legend" },
    swatch("read"),
    t("read"),
    swatch("write"),
    t("written"),
  );
  const square = (kind, name) =>
    h(
      "span",
      { class: "mg-legend mg-squares" },
      s(
        "svg",
        { viewBox: "0 0 14 14", class: `mg-square ${kind}`, "aria-hidden": "true" },
        s("rect", { x: 3, y: 3, width: 8, height: 8, class: "mg-kept" }),
      ),
      t(name),
    );
  const marks = h(
    "span",
    { class: "mg-marks" },
    keeping && square("mg-here", "keptMark"),
    keeping && frees && square("mg-freed", "freedMark"),
    legend,
  );
  const caption = h(
    "figcaption",
    null,
    h("span", null, t("graph")),
    generationsIn(nodes, swatch, t),
    marks,
    h(
      "div",
      { class: "mg-zoom" },
      iconButton("zoomOut", t, () => zoomAtStep(0.8)),
      iconButton("fit", t, fitAll),
      iconButton("zoomIn", t, () => zoomAtStep(1.25)),
    ),
  );
  build();
  return {
    box: h(
      "figure",
      { class: "mg-box" },
      caption,
      tree && bar,
      scroll,
      strip,
      legendBeside(trace, t),
    ),
    svg,
    scroll,
    build,
    fit,
    fitAll,
    fill,
    follow,
    rearranged,
    attend,
    opened: () => [...open],
    following: () => following,
    breakLines: (on) => {
      broken = on;
    },
    long: flat.width > LONG,
    update,
    walk,
    rove,
    toggle,
    zoomAtStep,
    arrange,
    cards: () => cards,
    flat: () => flat,
    // The scale at which it stands whole in a box of this width.
    scaleIn: (across) => Math.min(1, (across - 4) / least),
    smallOnStage: () => scaleNow() < leastOnStage(),
    // Pixels: the width at which the stage shows the boxes of each step together, of those steps
    // that need no more than `most`.
    together(most) {
      const { nodes } = squeezed(flat, 0),
        wide = (step) => spread(boxesOf(touched(step), nodes), "x", "w") * leastOnStage() + BESIDE;
      return Math.max(0, ...trace.steps.map(wide).filter((width) => width <= most));
    },
    // Of the strip below it, which is gone where all of it fits.
    stripHeight({ clientWidth: across } = scroll) {
      return least * LEGIBLE > across ? stripTall(across) + 1 : 0;
    },
    tallest: () => trace.layout.height, // with all groups open
    lines,
    // The height that it can use, of so many pixels.
    tall: (most) =>
      entire
        ? Infinity
        : heightOf(lines(most) ?? flat, long(scroll.offsetWidth) ? 2 : NaN) * COMFORTABLE + 3,
    shown: () => shown,
    tree,
    stands: (id) => standsFor.get(id) ?? id,
    wire: (edge) => wires.get(edge),
  };
}
