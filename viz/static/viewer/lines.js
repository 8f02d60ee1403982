// A graph much wider than its box, broken into lines as text is: each line runs from left to right,
// so that an arrow to the left is an adjoint everywhere. A wire to a further line leaves at the
// right end of its own, runs back between the lines, and enters at the left. The same rules as
// viz/layout/lines.py; a test compares the results.

import constants from "./constants.json" with { type: "json" };

// What the lengths mean is said in viz/layout/lines.py.
const { rim: RIM, aside: ASIDE, track: TRACK, gutter: GUTTER } = constants.lines;
const { usual_gap: USUAL_GAP, least_gap: LEAST_GAP, band_gap: BAND_GAP } = constants.lines;
const { small_gap: SMALL_GAP, small_screen: SMALL_SCREEN, stretch: STRETCH } = constants.lines;
const { label: LABEL, apart: APART, least_columns: LEAST_COLUMNS } = constants.lines;
const { most_edges: MOST_WIRES, square_edges: SQUARE_WIRES } = constants.lines;

/**
 * place: {width, height, nodes, edges} as a layout gives it; joined: its edges as [{id, src, dst}];
 * wide: the width that a line may take.
 * Returns the same form with `lines`: [{top, bottom, from, to}], each line's height in the new
 * picture and its part of the old one's width; or null where one line is enough, where most lines
 * would hold one column only, and where so many wires cross every break that lines would be a
 * tangle.
 */
export function inLines(place, joined, wide) {
  if (place.width <= wide) return null;
  const columns = uprightsOf(place.nodes),
    least = wide < SMALL_SCREEN ? SMALL_GAP : LEAST_GAP,
    edges = joined.filter((e) => place.edges[e.id]?.points.length > 1);
  const gaps = columns
    .slice(1)
    .map((column, k) => column.left - columns[k].right)
    .map((gap) => Math.max(Math.min(gap, least), gap - USUAL_GAP + least));
  const crossing = crossingOf(columns, edges);
  let tracks = 1;
  for (let pass = 0; pass < 3; pass++) {
    const space = wide - 2 * (RIM + ASIDE + TRACK * (tracks - 1)),
      starts = squared(columns, gaps, crossing, space) ?? brokenAt(columns, gaps, crossing, space);
    if (!starts || columns.length < LEAST_COLUMNS * starts.length) return null;
    const wires = wiresOf(place, edges, columns, starts),
      needs = Math.max(1, wires.right, wires.left);
    if (needs <= tracks || pass === 2)
      return arranged(place, edges, columns, gaps, starts, wires, space);
    tracks = needs;
  }
}

// The graph with less space between its columns, so that it is as wide as `wide` where that
// leaves space for the numbers on its edges. A gap that many edges cross keeps its width: a shape
// written there would be crossed by one of them.
export function squeezed(place, wide) {
  const columns = uprightsOf(place.nodes),
    gaps = columns.slice(1).map(({ left }, k) => left - columns[k].right),
    crossing = crossedBetween(columns, place.edges),
    spare = gaps.map((gap, k) => (crossing[k] > MOST_WIRES ? 0 : Math.max(0, gap - LEAST_GAP))),
    most = spare.reduce((a, b) => a + b, 0),
    share = Math.min(1, Math.max(0, place.width - wide) / (most || 1));
  if (!most || !share) return place;
  const at = (x) => {
    let moved = 0;
    for (const [k, gap] of gaps.entries()) {
      const within = Math.min(1, Math.max(0, (x - columns[k].right) / (gap || 1)));
      moved += within * share * spare[k];
    }
    return Math.round((x - moved) * 10) / 10;
  };
  const nodes = Object.entries(place.nodes).map(([id, box]) => [id, { ...box, x: at(box.x) }]);
  const edges = Object.entries(place.edges).map(([id, edge]) => [
    id,
    { ...edge, points: edge.points.map(([x, y]) => [at(x), y]) },
  ]);
  return {
    ...place,
    width: place.width - share * most,
    nodes: Object.fromEntries(nodes),
    edges: Object.fromEntries(edges),
  };
}

// For each place between two columns: how many edges cross it. An arrow ends a little before its
// column.
function crossedBetween(columns, edges) {
  const rights = columns.map(({ right }) => right - 1),
    lefts = columns.map(({ left }) => left - 12),
    out = columns.map(() => 0);
  for (const { points } of Object.values(edges)) {
    if (points.length < 2) continue;
    const from = before(rights, points[0][0] - 2),
      to = before(lefts, points.at(-1)[0]) - 1;
    if (from < to) {
      out[from]++;
      out[to]--;
    }
  }
  let sum = 0;
  return out.map((change) => (sum += change));
}

// What stands above one another, from left to right: {left, right, ids}.
function uprightsOf(nodes) {
  const found = [];
  for (const [id, { x, w }] of Object.entries(nodes).sort(
    (a, b) => a[1].x - a[1].w / 2 - (b[1].x - b[1].w / 2),
  )) {
    const last = found.at(-1);
    if (last && x - w / 2 < last.right + 1) {
      last.right = Math.max(last.right, x + w / 2);
      last.ids.push(id);
    } else found.push({ left: x - w / 2, right: x + w / 2, ids: [id] });
  }
  return found;
}

const numbered = (columns) =>
  new Map(columns.flatMap((column, k) => column.ids.map((id) => [id, k])));

// How many of the sorted numbers are less than x.
function before(numbers, x) {
  let low = 0,
    high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// For each place between two columns: how many nodes have a wire across it.
function crossingOf(columns, edges) {
  const column = numbered(columns),
    reach = new Map(),
    out = columns.map(() => 0);
  for (const { src, dst } of edges) reach.set(src, Math.max(reach.get(src) ?? 0, column.get(dst)));
  for (const [src, far] of reach) {
    out[column.get(src)]++;
    out[far]--;
  }
  let sum = 0;
  return out.map((change) => (sum += change));
}

// The first column of each line: as few lines as can be, evenly full, broken where few wires cross.
// Null: no such breaks, or one line only.
function brokenAt(columns, gaps, crossing, space) {
  const n = columns.length,
    best = [0],
    from = [];
  for (let end = 0; end < n; end++) {
    best.push(Infinity);
    for (let start = end, used = 0; start >= 0; start--) {
      used += columns[start].right - columns[start].left + (start < end ? gaps[start] : 0);
      if (used > space && start < end) break;
      const cost =
        best[start] +
        1 +
        (end === n - 1
          ? 0
          : crossing[end] > MOST_WIRES
            ? Infinity
            : (1 - Math.min(1, used / space)) ** 2 + 0.15 * crossing[end]);
      if (cost < best[end + 1]) [best[end + 1], from[end + 1]] = [cost, start];
    }
  }
  if (best[n] === Infinity) return null;
  const starts = [];
  for (let end = n; end > 0; end = from[end]) starts.unshift(from[end]);
  return starts.length > 1 ? starts : null;
}

// Where lines with equally many columns, standing below one another, begin; null where that takes
// many more lines. Such a picture is calmer to look at.
function squared(columns, gaps, crossing, space) {
  const free = brokenAt(columns, gaps, crossing, space),
    n = columns.length;
  for (
    let many = Math.max(0, ...(free ?? []).map((start, i) => (free[i + 1] ?? n) - start));
    many > 1;
    many--
  ) {
    if (Math.ceil(n / many) > 1.2 * free.length) return null;
    const starts = Array.from({ length: Math.ceil(n / many) }, (_, i) => i * many),
      { needs } = slotsOf(columns, gaps, starts);
    if (needs <= space && starts.slice(1).every((start) => crossing[start - 1] <= SQUARE_WIRES))
      return starts;
  }
  return null;
}

// The widths of the places in a line, and of the gaps between them, that suit all lines.
function slotsOf(columns, gaps, starts) {
  const wide = [],
    apart = [];
  starts.forEach((start, i) => {
    for (let k = start; k < (starts[i + 1] ?? columns.length); k++) {
      wide[k - start] = Math.max(wide[k - start] ?? 0, columns[k].right - columns[k].left);
      if (k > start) apart[k - start - 1] = Math.max(apart[k - start - 1] ?? 0, gaps[k - 1]);
    }
  });
  const sum = (all) => all.reduce((a, b) => a + b, 0);
  return { wide, apart, needs: sum(wide) + sum(apart) };
}

// Which wires go on in a further line, and on which track each runs: down at the right, back above
// the line, down at the left.
function wiresOf(place, edges, columns, starts) {
  const column = numbered(columns),
    line = starts.flatMap((start, i) => Array((starts[i + 1] ?? columns.length) - start).fill(i)),
    lineOf = (k) => line[k];
  const middles = columns.slice(1).map((c, k) => (columns[k].right + c.left) / 2),
    at = (x) => line[before(middles, x)];
  const parts = new Map(),
    leaving = new Map();
  for (const e of edges) {
    const { points } = place.edges[e.id],
      a = lineOf(column.get(e.src)),
      b = lineOf(column.get(e.dst));
    if (a === b) continue;
    const head = points.filter(([x], i) => i === 0 || (i < points.length - 1 && at(x) === a)),
      tail = points.filter(([x], i) => i === points.length - 1 || (i > 0 && at(x) === b));
    const y = head.at(-1)[1],
      name = `${e.src}\u0000${y}`;
    if (!leaving.has(name)) leaving.set(name, { line: a, y, entries: new Map(), right: 0 });
    const { entries } = leaving.get(name);
    entries.set(b, Math.max(entries.get(b) ?? -Infinity, tail[0][1])); // the deepest
    parts.set(e.id, { head, tail, line: b, wire: leaving.get(name) });
  }
  // Whoever leaves higher up, or in an earlier line, runs further outside, so that none crosses it.
  const last = (wire) => Math.max(...wire.entries.keys()),
    wires = [...leaving.values()].sort((a, b) => b.line - a.line || b.y - a.y);
  wires.forEach((wire, i) => {
    const beside = wires
      .slice(0, i)
      .filter((other) => other.line < last(wire) && wire.line < last(other));
    wire.right = 1 + Math.max(-1, ...beside.map((other) => other.right));
  });
  const gutters = starts.map((_, line) => {
    const entering = wires
      .filter((wire) => wire.entries.has(line))
      .sort((a, b) => a.right - b.right);
    const left = [...entering].sort((a, b) => a.entries.get(line) - b.entries.get(line));
    return {
      tracks: new Map(entering.map((wire, i) => [wire, i])),
      left: new Map(left.map((wire, i) => [wire, i])),
    };
  });
  return {
    lineOf: new Map([...column].map(([id, k]) => [id, lineOf(k)])),
    parts,
    gutters,
    right: 1 + Math.max(-1, ...wires.map((wire) => wire.right)),
    left: Math.max(...gutters.map((one) => one.left.size)),
  };
}

// Long: the stages of one algorithm, each used once.
function arranged(
  place,
  edges,
  columns,
  gaps,
  starts,
  { lineOf, parts, gutters, right, left },
  space,
) {
  const n = columns.length,
    lines = starts.map((start, i) => ({ start, end: starts[i + 1] ?? n }));
  const begin = RIM + ASIDE + TRACK * Math.max(0, left - 1),
    at = [],
    grown = [],
    slots = slotsOf(columns, gaps, starts),
    square = slots.needs <= space;
  let far = 0;
  for (const [i, line] of lines.entries()) {
    let used = square ? slots.needs : 0;
    for (let k = line.start; k < line.end && !square; k++)
      used += columns[k].right - columns[k].left + (k + 1 < line.end ? gaps[k] : 0);
    const between = (square ? slots.wide.length : line.end - line.start) - 1,
      more =
        between && (square || i < lines.length - 1)
          ? Math.max(0, Math.min(STRETCH, (space - used) / between))
          : 0;
    for (let k = line.start, x = begin; k < line.end; k++) {
      const own = columns[k].right - columns[k].left,
        wide = square ? slots.wide[k - line.start] : own;
      at[k] = x;
      grown[k] = wide / own; // cards that stand below one another are of one width
      far = Math.max(far, x + wide);
      x += wide + (square ? (slots.apart[k - line.start] ?? 0) : (gaps[k] ?? 0)) + more;
    }
  }
  const end = (k) => at[k] + (columns[k].right - columns[k].left) * grown[k];
  // An x of the old picture in the new one: in a column or between two columns in proportion.
  const across = (x, { start, end: stop }) => {
    let k = start;
    while (k + 1 < stop && columns[k + 1].left <= x) k++;
    const { left: from, right: to } = columns[k];
    if (x <= to || k + 1 >= stop) return at[k] + (x - from) * grown[k];
    return end(k) + ((x - to) / (columns[k + 1].left - to)) * (at[k + 1] - end(k));
  };
  // What stands in each line, as heights; where nothing does (a wire passed there that now goes
  // round) the line is made less tall.
  const heights = lines.map(() => []);
  for (const [id, { y, h }] of Object.entries(place.nodes))
    heights[lineOf.get(id)].push([y - h / 2, y + h / 2]);
  for (const e of edges) {
    const part = parts.get(e.id),
      line = lineOf.get(e.src);
    for (const [, y] of part ? part.head : place.edges[e.id].points) heights[line].push([y, y]);
    for (const [, y] of part?.tail ?? []) heights[part.line].push([y, y]);
  }
  let bottom = RIM;
  for (const [i, line] of lines.entries()) {
    if (i) line.gutter = bottom + GUTTER;
    if (i) bottom += 2 * GUTTER + TRACK * Math.max(0, gutters[i].tracks.size - 1);
    line.top = bottom;
    line.bands = bandsOf(heights[i], bottom);
    bottom = line.bottom = line.bands.at(-1).bottom + line.bands.at(-1).down;
  }
  const down = (y, { bands }) => y + (bands.findLast((band) => band.top <= y) ?? bands[0]).down;
  const f = (v) => Math.round(v * 10) / 10,
    moved = (points, line) =>
      points.map(([x, y]) => [f(across(x, lines[line])), f(down(y, lines[line]))]);
  const nodes = {},
    routes = {};
  for (const [id, { x, y, w, h }] of Object.entries(place.nodes)) {
    const line = lines[lineOf.get(id)],
      left = across(x - w / 2, line),
      right = across(x + w / 2, line);
    nodes[id] = { x: f((left + right) / 2), y: f(down(y, line)), w: f(right - left), h };
  }
  for (const e of edges) {
    const part = parts.get(e.id),
      line = lineOf.get(e.src);
    if (!part) {
      routes[e.id] = { points: moved(place.edges[e.id].points, line) };
      continue;
    }
    const head = moved(part.head, line),
      tail = moved(part.tail, part.line),
      { tracks, left: entering } = gutters[part.line];
    const out = f(far + ASIDE + TRACK * part.wire.right),
      back = f(lines[part.line].gutter + TRACK * tracks.get(part.wire)),
      into = f(begin - ASIDE - TRACK * entering.get(part.wire));
    routes[e.id] = {
      points: [
        ...head,
        [out, head.at(-1)[1]],
        [out, back],
        [f(Math.min(begin + LABEL + APART * entering.get(part.wire), far - LABEL)), back],
        [into, back],
        [into, tail[0][1]],
        ...tail,
      ],
    };
  }
  return {
    width: f(far + ASIDE + TRACK * Math.max(0, right - 1) + RIM),
    height: f(bottom + RIM),
    nodes,
    edges: routes,
    lines: lines.map((line) => ({
      top: f(line.top),
      bottom: f(line.bottom),
      from: columns[line.start].left,
      to: columns[line.end - 1].right,
    })),
  };
}

// Heights that lie near one another as one band each, {top, bottom, down}: how far it is moved, so
// that the first begins at `first` and the others follow at the same distance.
function bandsOf(heights, first) {
  const bands = [];
  for (const [top, bottom] of [...heights].sort((a, b) => a[0] - b[0])) {
    const last = bands.at(-1);
    if (last && top <= last.bottom + BAND_GAP) last.bottom = Math.max(last.bottom, bottom);
    else bands.push({ top, bottom });
  }
  bands.forEach((band, i) => {
    band.down = i
      ? bands[i - 1].bottom + bands[i - 1].down + BAND_GAP - band.top
      : first - band.top;
  });
  return bands;
}
