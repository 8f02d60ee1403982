// Pictures of a training beside its curves: sizes by layer, a loss over two parameters with the
// path of each run, and a network too wide for its neurons as matrices. Each gives {legend, svg}.

import { h, s } from "../../static/viewer/dom.js";
import { DASHES, num, rgb, text, ticks } from "./shared.js";

const BANDS = 12; // of the landscape, from low to high
const KINDS = [
  ["weights", 0, (x, y) => `M${x - 4} ${y - 4}h8v8h-8z`],
  ["gradient", 2, (x, y) => `M${x - 4.5} ${y}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z`],
  ["activation", 1, (x, y) => `M${x} ${y - 5}l5 9h-10z`],
];
export const axisText = (x, y, anchor, said) =>
  s("text", { class: "mt-axis", x, y, "text-anchor": anchor }, said);
const block = (colour) =>
  s("rect", { class: "mt-block", x: 6, width: 16, height: 12, fill: `rgb(${colour.join(" ")})` });
const inLegend = (drawn, said) =>
  h("li", {}, s("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, drawn), said);

// Root mean squares by layer, on one logarithmic axis for all snapshots; null where none is known.
export function sizesPicture({ snapshots }, { sizes, epoch }, wide, t) {
  const all = snapshots
    .flatMap((one) => one.sizes ?? [])
    .flatMap((row) => KINDS.map(([kind]) => num(row[kind])))
    .filter((v) => Number.isFinite(v) && v > 0);
  if (!sizes?.length || !all.length) return null;
  const left = Math.min(wide * 0.45, 14 + 6.5 * Math.max(...sizes.map((row) => row.layer.length))),
    right = wide - 16,
    step = Math.max(16, Math.min(24, 300 / sizes.length)),
    tall = 8 + step * sizes.length;
  let [low, high] = [Math.log10(Math.min(...all)), Math.log10(Math.max(...all))];
  if (high - low < 1) [low, high] = [(low + high - 1) / 2, (low + high + 1) / 2];
  const x = (v) => left + ((right - left) * (Math.log10(v) - low)) / (high - low);
  const said = sizes.map(
    (row) =>
      `${row.layer}: ` +
      KINDS.filter(([kind]) => row[kind] !== undefined)
        .map(([kind]) => `${t(kind)} ${text(row[kind])}`)
        .join(t("comma")),
  );
  const svg = s("svg", {
    viewBox: `0 0 ${wide} ${tall + 20}`,
    role: "img",
    "aria-label": t("sizesSaid", { epoch: text(epoch), words: said.join(t("semicolon")) }),
  });
  for (const v of ticks(10 ** low, 10 ** high, true))
    svg.append(
      s("line", { class: "mt-grid", x1: x(v), x2: x(v), y1: 0, y2: tall }),
      axisText(x(v), tall + 14, "middle", text(v)),
    );
  sizes.forEach((row, i) => {
    const y = 4 + step * (i + 0.5);
    svg.append(axisText(left - 10, y + 4, "end", row.layer));
    for (const [kind, colour, path] of KINDS) {
      const v = num(row[kind]);
      if (v === undefined) continue;
      // what is zero stands at the left end, what is not finite at the right one
      const at = v > 0 && Number.isFinite(v) ? x(v) : v === 0 ? left : right;
      const mark = { class: `mt-mark mt-c${colour}`, d: path(at, y), "data-kind": kind };
      svg.append(s("path", mark, s("title", {}, `${t(kind)} ${text(v)}`)));
    }
  });
  const legend = KINDS.filter(([kind]) => sizes.some((row) => row[kind] !== undefined)).map(
    ([kind, colour, path]) =>
      inLegend(s("path", { class: `mt-mark mt-c${colour}`, d: path(14, 6) }), t(kind)),
  );
  return { legend: h("ul", { class: "mt-legend" }, ...legend), svg };
}

function painted(across, down, colourOf) {
  const canvas = h("canvas", { width: across, height: down }),
    pen = canvas.getContext("2d"),
    image = pen.createImageData(across, down);
  for (let i = 0; i < across * down; i += 1) image.data.set([...colourOf(i), 255], 4 * i);
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
const mixed = (a, b, share) => a.map((v, k) => v + (b[k] - v) * share);

// The lines of equal height of a grid (row by row), by marching squares.
export function contours(values, size, level, place) {
  let d = "";
  const height = (row, column) => values[row * size + column] - level;
  for (let row = 0; row + 1 < size; row += 1)
    for (let column = 0; column + 1 < size; column += 1) {
      const corners = [[row, column], [row, column + 1], [row + 1, column + 1], [row + 1, column]],
        found = [];
      corners.forEach(([r, c], k) => {
        const [q, p] = corners[(k + 1) % 4],
          [a, b] = [height(r, c), height(q, p)];
        if (a < 0 === b < 0) return;
        const share = a / (a - b);
        found.push(place(c + (p - c) * share, r + (q - r) * share));
      });
      for (let k = 0; k + 1 < found.length; k += 2)
        d += `M${found[k].join(" ")}L${found[k + 1].join(" ")}`;
    }
  return d;
}

// The loss over two parameters, and the way of each run until an epoch.
export function landscapePicture({ landscape, paths = {} }, until, wide, t, root) {
  const { names, low, high } = landscape,
    [x0, x1, y0, y1] = landscape.bounds,
    [left, top, under] = [44, 8, 36],
    square = Math.min(wide - left - 12, 360),
    frame = { x: left, y: top, width: square, height: square };
  const x = (v) => left + (square * (v - x0)) / (x1 - x0),
    y = (v) => top + square * (1 - (v - y0) / (y1 - y0));
  const runs = Object.entries(paths).map(([name, path]) => ({
    name,
    points: path.points.filter((_, k) => path.epochs[k] <= until).map((pair) => pair.map(num)),
  }));
  const words = runs
    .filter(({ points }) => points.length)
    .map(({ name, points }) =>
      `${name} ${names.map((one, k) => `${one} = ${text(points.at(-1)[k])}`).join(", ")}`.trim(),
    );
  const said = { a: names[0], b: names[1], low: text(low), high: text(high) };
  const svg = s("svg", {
    viewBox: `0 0 ${left + square + 12} ${top + square + under}`,
    role: "img",
    "aria-label": t("landscapeSaid", { ...said, words: words.join(t("semicolon")) }),
  });
  svg.append(...ground(landscape, frame, root));
  for (const v of ticks(x0, x1, false))
    svg.append(axisText(x(v), top + square + 18, "middle", text(v)));
  for (const v of ticks(y0, y1, false)) svg.append(axisText(left - 6, y(v) + 4, "end", text(v)));
  svg.append(
    axisText(left + square / 2, top + square + 32, "middle", names[0]),
    axisText(8, top + square / 2, "middle", names[1]),
    s("svg", { ...frame, viewBox: `${left} ${top} ${square} ${square}` }, ways(runs, x, y)),
  );
  const swatch = (i) => ({ class: `mt-swatch mt-c${i % 5}`, "stroke-dasharray": DASHES[i % 5] });
  const legend = runs.map(({ name }, i) =>
    inLegend(s("line", { ...swatch(i), x1: 0, x2: 28, y1: 6, y2: 6 }), name || t("path")),
  );
  const colour = banded(root),
    ends = [low, high].map((v, share) =>
      inLegend(block(colour(share)), `${t("curves_loss")} ${text(v)}`),
    );
  return { legend: h("ul", { class: "mt-legend" }, ...legend, ...ends), svg };
}

// Where the centres of the cells of a grid are in a square.
export function cellsIn({ x, y, width }, size) {
  const at = (start, cell) => (start + (width * (cell + 0.5)) / size).toFixed(1);
  return (column, row) => [at(x, column), at(y, row)];
}

// The colour of a band, from 0 to 1.
function banded(root) {
  const [paper, ink] = ["--mt-surface", "--mt-soft"].map((name) => rgb(root, name));
  return (share) => mixed(paper, ink, 0.06 + 0.5 * share);
}

// Bands from light to dark, and the lines between them.
function ground({ size, cells }, frame, root) {
  const values = Uint8Array.from(atob(cells), (c) => c.charCodeAt(0)),
    colour = banded(root);
  const level = (byte) => Math.min(BANDS - 1, Math.floor((byte * BANDS) / 256)) / (BANDS - 1),
    href = painted(size, size, (i) => colour(level(values[i])));
  const place = cellsIn(frame, size);
  const lines = Array.from({ length: BANDS - 1 }, (_, k) => {
    const d = contours(values, size, ((k + 1) * 256) / BANDS, place);
    return s("path", { class: "mt-contour", d });
  });
  return [s("image", { href, ...frame, preserveAspectRatio: "none" }), ...lines];
}

// The paths, over the light grounds of all of them.
function ways(runs, x, y) {
  const grounds = [],
    over = [];
  runs.forEach(({ points }, i) => {
    const seen = points.filter((pair) => pair.every(Number.isFinite));
    if (!seen.length) return;
    const d = seen
      .map(([a, b], k) => `${k ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`)
      .join("");
    const [a, b] = seen.at(-1);
    grounds.push(s("path", { class: "mt-curve mt-way-ground", d }));
    over.push(
      s("path", { class: `mt-curve mt-c${i % 5}`, d, "stroke-dasharray": DASHES[i % 5] }),
      s("circle", { class: `mt-mark mt-c${i % 5}`, cx: x(a), cy: y(b), r: 5 }),
    );
  });
  return [...grounds, ...over];
}

// Each layer's weights as a heat map: above it the values that come in, to its right those that go
// out.
export function matricesPicture({ network, epoch }, weights, example, wide, t, root) {
  const [minus, zero, plus] = ["--mt-minus", "--mt-zero", "--mt-plus"].map((n) => rgb(root, n)),
    values = network.values.map((layer) => layer[example].map((v) => num(v) || 0)),
    largest = (list) => list.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-12),
    scale = largest(weights.flat(2));
  const colour = (v, most) => mixed(zero, v < 0 ? minus : plus, Math.min(1, Math.abs(v) / most));
  const [gap, strip, caption] = [4, 8, 18];
  const svg = s("svg", { role: "img" });
  let y = 0;
  const image = (across, down, all, most, place) => {
    const href = painted(across, down, (i) => colour(all[i], most));
    svg.append(s("image", { class: "mt-cells", href, ...place, preserveAspectRatio: "none" }));
  };
  const said = weights.map((matrix, l) => {
    const [into, from] = [matrix.length, matrix[0].length],
      width = Math.min(wide - strip - gap, 12 * from),
      height = Math.min(200, 12 * into),
      name = `${t("layerOf", { l: l + 1 })}: ${into} × ${from}`;
    svg.append(axisText(0, y + 12, "start", name));
    y += caption;
    const [before, after] = [values[l], values[l + 1]];
    image(from, 1, before, largest(before), { x: 0, y, width, height: strip });
    y += strip + gap;
    image(from, into, matrix.flat(), scale, { x: 0, y, width, height });
    image(1, into, after, largest(after), { x: width + gap, y, width: strip, height });
    y += height + 10;
    return name;
  });
  svg.setAttribute("viewBox", `0 0 ${wide} ${Math.ceil(y)}`);
  const heading = { epoch: text(epoch), example: example + 1 };
  const layers = said.join(t("semicolon")) + t("fullStop");
  svg.setAttribute("aria-label", `${t("networkSaid", heading)} ${layers}`);
  const legend = [-scale, 0, scale].map((v) => inLegend(block(colour(v, scale)), text(v)));
  legend.push(h("li", { class: "mt-none" }, t("strips")));
  return { legend: h("ul", { class: "mt-legend" }, ...legend), svg };
}
