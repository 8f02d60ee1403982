// The training view: curves, an epoch scrubber, decision surface, network and histograms. It draws
// what the document minigrad.history/1 says (viz/training/history.py), and computes nothing but
// places and colours. Its words stand with the stepper's, in one table.

import { windowOf } from "../../static/viewer/arrange.js";
import { h, icon, s } from "../../static/viewer/dom.js";
import { drawHelp, keyRows } from "../../static/viewer/help.js";
import { listenFirstKey } from "../../static/viewer/keys.js";
import { fromBase64, unpacked } from "../../static/viewer/packed.js";
import { keepKeys } from "../../static/viewer/quiet.js";
import { makeStage } from "../../static/viewer/stage.js";
import { translator } from "../../static/viewer/texts.js";
import {
  axisText,
  cellsIn,
  contours,
  landscapePicture,
  matricesPicture,
  sizesPicture,
} from "./pictures.js";
import { DASHES, matrixOf, num, rgb, signed, text, ticks } from "./shared.js";

// As in the stepper: of a key whose third entry says so on the stage alone, or elsewhere alone.
const KEYS = [
  ["← →", "keySnapshot", false],
  ["← → PgUp PgDn", "keySnapshot", true],
  ["Home End", "keyEnds"],
  ["Space", "keyPlay"],
];
const KEYS_OF_STAGE = [
  ["B .", "keyDark", true],
  ["F", "stage", false],
  ["F Esc", "keyLeave", true],
  ["?", "keyHelp"],
  ["Esc", "keyEsc", false],
];
let count = 0; // views so far, for the ids that aria attributes refer to
const LEVELS = 64;
const SQUARE = "mt-body mt-square";
const MOST_CIRCLES = 16; // neurons of a layer that are drawn one by one
// pixels: the height of a screen on which the stage has letters of the usual size, a 57th of it; or
// a 67th where three panels would not stand beside one another
const STAGE = 600,
  DENSE = 700,
  MARGINS = 0.95; // of its width, what the margins leave

/**
 * Shows a history in an element; returns the view's root, whose `update(history, running)` shows
 * another state of it.
 * Long: a closure, whose functions share these elements and the state.
 */
export function mount(
  host,
  history,
  { running = false, at = -1, level = 2, lang = "en", moved = () => {} } = {},
) {
  const t = translator(lang);
  const root = h("section", {
    class: "mt-root",
    tabindex: "-1",
    lang: t.lang,
  });
  host.append(keepKeys(root));
  const state = { history, running, at, log: null, parameter: null, example: 0, timer: null };
  const parts = {};
  let scale = 1, // of all letters, on the stage
    tall = Infinity; // pixels for a square picture
  const stage = makeStage(
    root,
    { steps: [] },
    { clock: null, arrange: draw, redraw() {}, close: () => help.close() },
  );
  // of a training without snapshots, or with one, no key goes from one to another
  const keys = () => [...(state.history.snapshots.length > 1 ? KEYS : []), ...KEYS_OF_STAGE],
    help = drawHelp(t, `mt-help-${++count}`, (list) => [list("keys", keyRows(keys(), t))]);

  const toggleStage = () => stage.set(!stage.on());

  function build() {
    root.replaceChildren();
    root.setAttribute("aria-label", state.history.title || t("training"));
    parts.title = h(`h${level}`, { class: "mt-title" });
    parts.status = h("span", { class: "mt-status", role: "status" });
    parts.curves = h("div", { class: "mt-row mt-curves" });
    parts.slider = h("input", {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": t("epochOf"),
      oninput: () => go(Number(parts.slider.value)),
    });
    parts.epoch = h("output", { class: "mt-number" });
    const button = (word, label, act) =>
      h("button", { class: "mt-step", "aria-label": label, onclick: act }, word);
    parts.previous = button("‹", t("previousSnapshot"), () => go(index() - 1));
    parts.play = button("▶", t("playEpochs"), () => play(!state.timer));
    parts.next = button("›", t("nextSnapshot"), () => go(index() + 1));
    parts.scrub = h(
      "div",
      { class: "mt-scrub", role: "group", "aria-label": t("epochWord") },
      parts.previous,
      parts.play,
      parts.next,
      parts.slider,
      parts.epoch,
    );
    parts.views = h("div", { class: "mt-row" });
    parts.table = h("div", {});
    parts.details = h(
      "details",
      { class: "mt-table" },
      h("summary", {}, t("asTable")),
      parts.table,
    );
    parts.panels = h(
      "div",
      { class: "mt-panels", role: "group", "aria-label": t("training") },
      parts.curves,
      parts.views,
      parts.details,
    );
    const said = { "aria-label": t("stage"), title: t("stage"), onclick: toggleStage },
      full = h("button", { class: "mt-full", ...said }, icon("stage"));
    root.append(
      h("div", { class: "mt-top" }, parts.title, parts.status, full, help.button),
      h("div", {}, help.box), // below the button on the stage, too
      parts.scrub,
      parts.panels,
    );
    draw();
  }

  // The panels end with the window, and scroll, where two or more stand beside one another: the
  // curves above, below them pictures that share the height that is left; those of the first row
  // have it where it is too little for all.
  function fit() {
    const { panels } = parts,
      below = (part, other) => part.getBoundingClientRect().top - other.getBoundingClientRect().top,
      tallest = stage.on() ? root.clientHeight : windowOf(root),
      space = tallest - below(panels, root) - AROUND / 2,
      around = new Map(), // by the place of a row: of its panels what is not picture
      ends = columnsOf(Infinity) > 1;
    for (const square of panels.querySelectorAll(".mt-square")) {
      const panel = square.parentElement,
        row = Math.round(below(panel, panels) + panels.scrollTop),
        rest = panel.offsetHeight - square.firstElementChild.getBoundingClientRect().height;
      around.set(row, Math.max(around.get(row) ?? 0, Math.ceil(rest)));
    }
    const [above = 0] = around.keys(),
      each = (rows) =>
        (space - above + GAP - rows.reduce((sum, rest) => sum + rest + GAP, 0)) / rows.length,
      shared = each([...around.values()]);
    tall = shared < LOWEST ? Math.max(LOWEST, each([...around.values()].slice(0, 1))) : shared;
    panels.style.maxHeight = ends ? `${Math.round(Math.max(LEAST, space))}px` : "";
    panels.style.setProperty("--mt-tall", ends ? `${Math.floor(tall)}px` : "none");
    // by keys, too
    if (panels.scrollHeight > panels.clientHeight + 1) panels.setAttribute("tabindex", "0");
    else panels.removeAttribute("tabindex");
  }

  // The width of a drawing in its panel: drawn in pixels, its letters are of one size everywhere.
  // Of `many` panels as many stand beside one another as fit.
  const GAP = 14,
    LEAST = 320,
    WIDEST = 580,
    WIDEST_SQUARE = 430,
    SINGLE = 653,
    FRAME = 26,
    LOWEST = 160,
    AROUND = 32; // as training.css has them
  const innerWidth = () =>
    stage.on() ? parts.panels.clientWidth / scale : (root.clientWidth || 720) - AROUND;
  const columnsOf = (many) =>
    Math.max(1, Math.min(many, Math.floor((innerWidth() + GAP) / (LEAST + GAP))));
  function widthOf(many) {
    const inner = innerWidth(),
      columns = columnsOf(many),
      own = (inner - GAP * (columns - 1)) / columns;
    const wide = inner > SINGLE && !stage.on() ? Math.min(own, WIDEST) : own;
    return Math.round(Math.max(200, wide - FRAME));
  }

  // Of the letters on the stage, with so many panels beside one another.
  function scaleFor(columns) {
    const { clientHeight: tall, clientWidth: wide } = root,
      most = (wide * MARGINS) / (columns * (LEAST + GAP));
    return Math.max(1, tall / DENSE, Math.min(tall / STAGE, most));
  }
  // The height of a picture on the stage, and the width of a square one; else it fills its panel.
  const tallest = () => (stage.on() ? tall / scale : Infinity),
    squareOf = (wide) => Math.min(wide, tallest());

  const index = () =>
    state.at < 0
      ? state.history.snapshots.length - 1
      : Math.min(state.at, state.history.snapshots.length - 1);
  function go(to) {
    const last = state.history.snapshots.length - 1;
    state.at = Math.max(0, Math.min(last, to));
    moved(state.at);
    drawSnapshot();
    markEpoch();
  }
  function play(on) {
    clearInterval(state.timer);
    state.timer = null;
    parts.play.textContent = on ? "❚❚" : "▶";
    parts.play.setAttribute("aria-label", t(on ? "pause" : "playEpochs"));
    if (!on) return;
    if (index() >= state.history.snapshots.length - 1) go(0);
    state.timer = setInterval(() => {
      if (!root.isConnected || index() >= state.history.snapshots.length - 1) play(false);
      else go(index() + 1);
    }, 350);
  }

  const panel = (word, tools, ...children) =>
    h(
      "div",
      { class: "mt-panel" },
      h("div", { class: "mt-head" }, h(`h${level + 1}`, { class: "mt-word" }, word), ...tools),
      ...children,
    );

  function draw() {
    const { measures, paths = {}, snapshots, title } = state.history;
    const names = Object.keys(measures);
    const last = [...Object.values(measures), ...Object.values(paths)]
      .flatMap(({ epochs }) => epochs.slice(-1))
      .concat(snapshots.slice(-1).map(({ epoch }) => epoch));
    parts.title.textContent = title || t("training");
    parts.status.textContent = last.length
      ? t(state.running ? "epochRunning" : "epochEnd", { epoch: text(Math.max(...last)) })
      : t("nothingRecorded");
    const groups = Object.entries(grouped(names)),
      ground = snapshots.length ? null : state.history.landscape, // else it follows the scrubber
      many = groups.length + (snapshots.length ? 3 : ground ? 1 : 0);
    scale = stage.on() ? scaleFor(Math.min(many, 3)) : 1;
    root.style.setProperty("--mt-scale", scale);
    const wide = widthOf(many);
    parts.panels.style.setProperty("--mt-columns", columnsOf(many));
    parts.curves.replaceChildren(
      ...groups.map(([word, members]) => curves(word, members, wide, many)),
      ...(ground ? [landscape(Infinity, wide)] : []),
    );
    parts.scrub.hidden = snapshots.length < 2;
    parts.slider.max = Math.max(0, snapshots.length - 1);
    drawTable(names);
    drawSnapshot();
    fit();
    if (stage.on()) drawSnapshot(); // at the height that the squares have
    markEpoch();
  }

  // Long: a closure, whose functions share these elements and the state.
  function curves(word, names, W, many) {
    const { measures } = state.history;
    const all = names.flatMap((name) => measures[name].values.map(num)).filter(Number.isFinite);
    const positive = all.length > 0 && Math.min(...all) > 0;
    const log =
      positive && (state.log ?? (word === "loss" && Math.max(...all) > 20 * Math.min(...all)));
    // with the scrubber and the decision surface on one screen of 800 pixels
    const rows = Math.ceil(many / columnsOf(many)),
      H = state.history.snapshots.length ? 150 : stage.on() ? STAGE / rows - 130 : 220,
      L = 48,
      R = 12,
      T = 10,
      B = 26;
    const epochs = names.flatMap((name) => measures[name].epochs);
    const [e0, e1] = [Math.min(...epochs, Infinity), Math.max(...epochs, -Infinity)];
    let [low, high] = all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
    if (word === "accuracy") [low, high] = [Math.min(low, 0.5), Math.max(high, 1)];
    if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    const f = (v) => (log ? Math.log10(v) : v);
    const x = (e) => L + ((W - L - R) * (e - e0)) / (e1 - e0 || 1);
    const y = (v) => T + (H - T - B) * (1 - (f(v) - f(low)) / (f(high) - f(low)));
    const svg = s("svg", {
      viewBox: `0 0 ${W} ${H}`,
      role: "img",
      "aria-label": names.map((name) => spoken(name, measures[name], t)).join(" "),
    });
    for (const v of ticks(low, high, log)) {
      svg.append(s("line", { class: "mt-grid", x1: L, x2: W - R, y1: y(v), y2: y(v) }));
      svg.append(
        s("text", { class: "mt-axis", x: L - 6, y: y(v) + 4, "text-anchor": "end" }, text(v)),
      );
    }
    for (const e of ticks(e0, e1, false))
      svg.append(
        s("text", { class: "mt-axis", x: x(e), y: H - 8, "text-anchor": "middle" }, text(e)),
      );
    svg.append(axisText(L - 10, H - 8, "end", t("epochWord")));
    names.forEach((name, i) => {
      let d = "",
        pen = false;
      measures[name].values.forEach((raw, k) => {
        const v = num(raw);
        const shown = Number.isFinite(v) && (!log || v > 0);
        if (shown)
          d += `${pen ? "L" : "M"}${x(measures[name].epochs[k]).toFixed(1)} ${y(v).toFixed(1)}`;
        pen = shown;
      });
      svg.append(
        s("path", { class: `mt-curve mt-c${i % 5}`, d, "stroke-dasharray": DASHES[i % 5] }),
      );
    });
    svg.append(
      s("line", {
        ...{ class: "mt-now", y1: T, y2: H - B, hidden: true },
        ...{ "data-e0": e0, "data-e1": e1, "data-left": L, "data-right": W - R },
      }),
    );
    const legend = h(
      "ul",
      { class: "mt-legend" },
      ...names.map((name, i) =>
        h(
          "li",
          {},
          s(
            "svg",
            { viewBox: "0 0 28 12", "aria-hidden": "true" },
            s("line", {
              class: `mt-swatch mt-c${i % 5}`,
              x1: 0,
              x2: 28,
              y1: 6,
              y2: 6,
              "stroke-dasharray": DASHES[i % 5],
            }),
          ),
          name,
          h("span", { class: "mt-number", "data-measure": name }),
        ),
      ),
    );
    const toggle = h(
      "button",
      {
        class: "mt-toggle",
        "aria-pressed": String(log),
        hidden: !positive || word === "accuracy",
        onclick: () => {
          state.log = !log;
          draw();
          parts.curves.querySelector(".mt-toggle")?.focus();
        },
      },
      t("logarithmic"),
    );
    return panel(t(`curves_${word}`), [legend, toggle], h("div", { class: "mt-body" }, svg));
  }

  function markEpoch() {
    const { snapshots, measures } = state.history,
      snapshot = snapshots[index()],
      upTo = index() < snapshots.length - 1 ? snapshot.epoch : Infinity;
    for (const number of root.querySelectorAll("[data-measure]")) {
      const { epochs, values } = measures[number.dataset.measure];
      number.textContent = text(values[epochs.findLastIndex((epoch) => epoch <= upTo)]);
    }
    for (const line of root.querySelectorAll(".mt-now")) {
      const [e0, e1, left, right] = ["e0", "e1", "left", "right"].map((key) =>
        Number(line.dataset[key]),
      );
      line.toggleAttribute("hidden", !snapshot || snapshots.length < 2);
      if (!snapshot) continue;
      const share = Math.max(0, Math.min(1, (snapshot.epoch - e0) / (e1 - e0 || 1))),
        at = left + (right - left) * share;
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
    }
  }

  function drawSnapshot() {
    const snapshot = state.history.snapshots[index()];
    parts.views.hidden = !snapshot;
    if (!snapshot) return;
    parts.slider.value = index();
    const last = state.history.snapshots.length - 1,
      views = [];
    if (state.history.landscape)
      views.push(landscape(last ? snapshot.epoch : Infinity, widthOf(3)));
    for (const [button, end] of [
      [parts.previous, 0],
      [parts.next, last],
    ]) {
      // Not `disabled`: the button keeps the focus.
      if (index() === end) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
    parts.slider.setAttribute("aria-valuetext", t("epochAt", { epoch: text(snapshot.epoch) }));
    parts.epoch.textContent = t("epochAt", { epoch: text(snapshot.epoch) });
    const focus = root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    if (snapshot.surface) views.push(surface(snapshot));
    if (snapshot.network) views.push(network(snapshot));
    const sizes = sizesPicture(state.history, snapshot, widthOf(3), t);
    if (sizes) {
      views.push(shown("sizes", sizes));
      views.at(-1).classList.add("mt-sizes");
    }
    if (Object.keys(snapshot.weights).length) views.push(histograms(snapshot));
    parts.views.replaceChildren(...views);
    if (focus) root.querySelector(`[data-key="${focus}"]`)?.focus();
  }

  const shown = (word, { legend, svg }, tools = [], look = "mt-body") =>
    panel(t(word), [legend, ...tools], h("div", { class: look }, svg));
  const landscape = (until, wide) =>
    shown("landscape", landscapePicture(state.history, until, squareOf(wide), t, root), [], SQUARE);

  // -- the decision surface

  // Long: a closure, whose functions share these elements and the state.
  function surface(snapshot) {
    const { size, classes, cells } = snapshot.surface;
    const points = state.history.points;
    const bytes = Uint8Array.from(atob(cells), (c) => c.charCodeAt(0));
    const canvas = h("canvas", { width: size, height: size, "aria-hidden": "true" });
    const pen = canvas.getContext("2d");
    const paper = rgb(root, "--mt-surface"),
      tones = ["--mt-v", "--mt-d", "--mt-g", "--mt-soft"].map((name) => rgb(root, name));
    const image = pen.createImageData(size, size);
    bytes.forEach((cell, i) => {
      const tone = tones[cell >> 6],
        share = 0.1 + (0.5 * (cell & 63)) / (LEVELS - 1);
      for (let k = 0; k < 3; k += 1)
        image.data[4 * i + k] = paper[k] + (tone[k] - paper[k]) * share;
      image.data[4 * i + 3] = 255;
    });
    pen.putImageData(image, 0, 0);
    const [x0, x1, y0, y1] = points.bounds,
      [left, top, right, under] = [40, 6, 10, 36],
      W = Math.min(squareOf(widthOf(3)), WIDEST_SQUARE) - left - right,
      frame = { x: left, y: top, width: W, height: W };
    const x = (a) => left + (W * (a - x0)) / (x1 - x0),
      y = (b) => top + W * (1 - (b - y0) / (y1 - y0));
    const counts = new Array(classes).fill(0);
    for (const cell of bytes) counts[cell >> 6] += 1;
    const words = counts
      .map((n, k) => t("covers", { k, percent: Math.round((100 * n) / bytes.length) }))
      .join(t("comma"));
    const svg = s(
      "svg",
      {
        viewBox: `0 0 ${left + W + right} ${top + W + under}`,
        role: "img",
        "aria-label": t("surfaceSaid", { epoch: text(snapshot.epoch), words }),
      },
      s("image", { href: canvas.toDataURL(), ...frame, preserveAspectRatio: "none" }),
      s("path", { class: "mt-boundary", d: boundary(bytes, size, classes, frame) }),
      ticks(x0, x1, false).map((v) => axisText(x(v), top + W + 18, "middle", text(v))),
      ticks(y0, y1, false).map((v) => axisText(left - 6, y(v) + 4, "end", text(v))),
      axisText(left + W / 2, top + W + 32, "middle", "x1"),
      axisText(0, top + W / 2, "start", "x2"),
    );
    points.x.forEach(([a, b], i) => svg.append(mark(points.label[i], x(a), y(b))));
    const labels = [...new Set(points.label)].sort();
    const legend = h(
      "ul",
      { class: "mt-legend" },
      ...labels.map((k) =>
        h(
          "li",
          {},
          s("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, mark(k, 14, 6)),
          t("classOf", { k }),
        ),
      ),
    );
    return panel(t("surface"), [legend], h("div", { class: SQUARE }, svg));
  }

  // The lines between the classes: each class is positive where it is the likeliest.
  function boundary(bytes, size, classes, frame) {
    const place = cellsIn(frame, size);
    return Array.from({ length: classes - 1 }, (_, k) => {
      const sure = Array.from(bytes, (cell) => (cell >> 6 === k ? 1 : -1) * ((cell & 63) + 0.5));
      return contours(sure, size, 0, place);
    }).join("");
  }

  function mark(k, x, y) {
    // another shape for each class
    const q = 3.4,
      r = q * 1.3,
      d = [
        `M${x - q} ${y}a${q} ${q} 0 1 0 ${2 * q} 0a${q} ${q} 0 1 0 ${-2 * q} 0z`,
        `M${x - q} ${y - q}h${2 * q}v${2 * q}h${-2 * q}z`,
        `M${x} ${y - q * 1.2}l${q * 1.2} ${q * 2}h${-q * 2.4}z`,
        `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`,
      ][k % 4];
    return s("path", { class: `mt-mark mt-c${k % 4}`, d });
  }

  // -- the network

  // Long: a closure, whose functions share these elements and the state.
  function network(snapshot) {
    const { layers, values } = snapshot.network;
    const weights = snapshot.network.weights.map(matrixOf);
    const example = Math.min(state.example, values[0].length - 1);
    const widest = Math.max(...values.map((layer) => layer[0].length));
    const select = exampleMenu(values[0].length, example);
    if (widest > MOST_CIRCLES) {
      const found = matricesPicture(snapshot, weights, example, widthOf(3), t, root);
      return shown("network", found, [select]);
    }
    const small = widest <= 8,
      r = small ? (stage.on() ? 20 : 19) : Math.max(3.5, Math.min(9, 150 / widest)),
      gap = small ? (stage.on() ? 42 : 54) : Math.max(2.6 * r, 12);
    const W = Math.max(300, (small ? 88 : 70) * layers.length),
      high = Math.max(150, widest * gap + 30),
      shrunk = Math.max(W / 330, high / tallest()), // about, when it is shown
      letters = Math.min(11 * shrunk, (0.22 * W) / layers.length),
      H = high + letters - 10;
    const x = (l) => (W * (l + 0.5)) / layers.length;
    const y = (l, i) => high / 2 + (i - (values[l][example].length - 1) / 2) * gap - 6;
    const biggest = Math.max(1e-12, ...weights.flat(2).map((w) => Math.abs(num(w)) || 0));
    const svg = s("svg", {
      viewBox: `0 0 ${W} ${H}`,
      role: "img",
      "aria-label":
        t("networkSaid", { epoch: text(snapshot.epoch), example: example + 1 }) +
        " " +
        layers
          .map(
            (name, l) =>
              `${name}: ${values[l][example].slice(0, 8).map(text).join(", ")}` +
              (values[l][example].length > 8 ? " …" : ""),
          )
          .join(t("semicolon")) +
        t("fullStop"),
    });
    weights.forEach((matrix, l) =>
      matrix.forEach((row, j) =>
        row.forEach((raw, i) => {
          const w = num(raw),
            share = Math.abs(w) / biggest;
          if (!(share > 0.03)) return;
          svg.append(
            s(
              "line",
              {
                class: "mt-link",
                x1: x(l) + r,
                y1: y(l, i),
                x2: x(l + 1) - r,
                y2: y(l + 1, j),
                stroke: w < 0 ? "var(--mt-d)" : "var(--mt-v)",
                "stroke-width": (0.4 + (small ? 3.6 : 1.4) * share).toFixed(2),
                "stroke-opacity": (0.25 + 0.75 * share).toFixed(2),
                "stroke-dasharray": w < 0 ? "5 3" : null,
              },
              s("title", {}, t("weight", { value: text(w) })),
            ),
          );
        }),
      ),
    );
    values.forEach((layer, l) => {
      const scale = Math.max(1e-12, ...layer[example].map((v) => Math.abs(num(v)) || 0));
      layer[example].forEach((raw, i) => {
        const v = num(raw),
          share = Math.min(1, Math.abs(v) / scale) || 0;
        const tone = v < 0 ? "var(--mt-d)" : "var(--mt-v)";
        svg.append(
          s(
            "circle",
            {
              class: "mt-neuron",
              cx: x(l),
              cy: y(l, i),
              r,
              fill: `color-mix(in srgb, ${tone} ${Math.round(45 * share)}%, var(--mt-surface))`,
              "stroke-dasharray": v < 0 ? "3 2" : null,
            },
            s("title", {}, text(v)),
          ),
        );
        if (small)
          svg.append(s("text", { class: "mt-value", x: x(l), y: y(l, i) + 3.8 }, short(v)));
      });
      svg.append(
        s(
          "text",
          { class: "mt-net", x: x(l), y: H - 6, "font-size": letters },
          t(l === 0 ? "input" : l === layers.length - 1 ? "outputLayer" : "layerOf", { l }),
        ),
      );
    });
    const legend = h(
      "ul",
      { class: "mt-legend" },
      h(
        "li",
        {},
        s(
          "svg",
          { viewBox: "0 0 28 12", "aria-hidden": "true" },
          s("line", { class: "mt-swatch mt-c0", x1: 0, x2: 28, y1: 6, y2: 6 }),
        ),
        t("positive"),
      ),
      h(
        "li",
        {},
        s(
          "svg",
          { viewBox: "0 0 28 12", "aria-hidden": "true" },
          s("line", {
            class: "mt-swatch mt-c1",
            x1: 0,
            x2: 28,
            y1: 6,
            y2: 6,
            "stroke-dasharray": "5 3",
          }),
        ),
        t("negative"),
      ),
    );
    return panel(t("network"), [legend, select], h("div", { class: SQUARE }, svg));
  }
  function exampleMenu(many, example) {
    return h(
      "select",
      {
        "data-key": "example",
        "aria-label": t("example"),
        hidden: many < 2,
        onchange: (event) => {
          state.example = Number(event.target.value);
          drawSnapshot();
        },
      },
      ...Array.from({ length: many }, (_, k) =>
        h("option", { value: k, selected: k === example }, t("exampleOf", { k: k + 1 })),
      ),
    );
  }
  const short = (v) => {
    const written =
      Math.abs(v) >= 100
        ? v.toPrecision(3)
        : Math.abs(v) >= 0.005
          ? v.toFixed(2)
          : v === 0
            ? "0"
            : v.toExponential(0);
    return signed(written);
  };

  // -- the histograms

  function histograms(snapshot) {
    const names = Object.keys(snapshot.weights);
    if (!names.includes(state.parameter)) state.parameter = names[0];
    const select = h(
      "select",
      {
        "data-key": "parameter",
        "aria-label": t("parameter"),
        onchange: (event) => {
          state.parameter = event.target.value;
          drawSnapshot();
        },
      },
      ...names.map((name) =>
        h("option", { value: name, selected: name === state.parameter }, name),
      ),
    );
    const gradient = snapshot.gradients[state.parameter];
    const body = h(
      "div",
      { class: "mt-body" },
      histogram(t("weights"), snapshot.weights[state.parameter], 0),
      gradient
        ? histogram(t("gradient"), gradient, 2)
        : h("p", { class: "mt-none" }, t("noGradient")),
    );
    return panel(t("weightsGradients"), [select], body);
  }

  function histogram(word, data, colour) {
    const W = widthOf(3),
      shown = (scale * (W + FRAME) - FRAME) / W, // times its width
      H = Math.min(118, (scale * (tallest() / 2 - 4)) / shown), // as high as the other pictures
      B = 20,
      T = 16,
      most = Math.max(1, ...data.counts),
      u = (W - 20) / data.counts.length;
    const other = data.other ? t("notFinite", { n: data.other }) : "";
    const svg = s("svg", {
      viewBox: `0 0 ${W} ${H}`,
      role: "img",
      "aria-label": t("histogramSaid", {
        word,
        name: state.parameter,
        low: text(data.low),
        high: text(data.high),
        other,
      }),
    });
    data.counts.forEach((n, i) => {
      const high = ((H - B - T) * n) / most;
      svg.append(
        s(
          "rect",
          {
            class: `mt-bar mt-c${colour}`,
            x: 10 + i * u + 0.6,
            y: H - B - high,
            width: u - 1.2,
            height: high,
          },
          s("title", {}, String(n)),
        ),
      );
    });
    svg.append(
      s("line", { class: "mt-grid", x1: 10, x2: W - 10, y1: H - B, y2: H - B }),
      s("text", { class: "mt-axis", x: 10, y: 11 }, word + other),
      s("text", { class: "mt-axis", x: 10, y: H - 6 }, text(data.low)),
      s("text", { class: "mt-axis", x: W - 10, y: H - 6, "text-anchor": "end" }, text(data.high)),
    );
    if (data.low < 0 && data.high > 0) {
      const zero = 10 + ((W - 20) * -data.low) / (data.high - data.low);
      svg.append(s("line", { class: "mt-zero", x1: zero, x2: zero, y1: T, y2: H - B }));
      const free = (end) => 20 + 7 * text(end).length; // behind its number
      if (zero > free(data.low) && zero < W - free(data.high))
        svg.append(
          s("text", { class: "mt-axis", x: zero, y: H - 6, "text-anchor": "middle" }, "0"),
        );
    }
    return svg;
  }

  function drawTable(names) {
    const row = (name) => {
      const { epochs, values } = state.history.measures[name],
        v = values.map(num).filter(Number.isFinite);
      const cells = [
        values[0],
        v.length ? Math.min(...v) : null,
        v.length ? Math.max(...v) : null,
        values.at(-1),
      ];
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, name),
        h("td", {}, String(epochs.length)),
        ...cells.map((c) => h("td", {}, text(c))),
      );
    };
    parts.details.hidden = !names.length;
    parts.table.replaceChildren(
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["measure", "records", "firstValue", "lowest", "highest", "lastValue"].map((word) =>
              h("th", { scope: "col" }, t(word)),
            ),
          ),
        ),
        h("tbody", {}, ...names.map(row)),
      ),
    );
  }

  root.update = (next, isRunning) => {
    state.history = next;
    state.running = isRunning;
    if (help.box.hidden) help.box.replaceChildren(); // with the first snapshots come their keys
    if (isRunning) state.at = -1;
    draw();
  };
  // No more is to come.
  root.end = () => root.update(state.history, false);
  // What a key does with the focus inside, as in the stepper; null leaves it to the browser. A
  // select keeps its own keys, and so does Space on a button.
  function action({ key, target: { tagName } }) {
    const last = state.history.snapshots.length - 1,
      at = index();
    if (tagName === "SELECT") return null;
    if (key === "Escape")
      return stage.on() ? stage.leave : () => help.close() || document.activeElement?.blur();
    if (key === "?") return help.toggle;
    if (/^f$/i.test(key)) return toggleStage;
    if (stage.on() && /^[b.]$/i.test(key)) return stage.dark;
    if (last < 1) return null;
    if (key === " " && !["BUTTON", "SUMMARY"].includes(tagName)) return () => play(!state.timer);
    const paged = stage.on() && { PageUp: at - 1, PageDown: at + 1 }, // by a clicker
      to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last, ...paged }[key];
    return to === undefined ? null : () => (play(false), go(to));
  }
  root.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = action(event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    if (!stage.lit()) act();
  });
  root.go = (to) => {
    if (to !== state.at) {
      state.at = to;
      drawSnapshot();
      markEpoch();
    }
  };
  build();
  const look = () => getComputedStyle(root).backgroundColor;
  let drawn = [root.clientWidth, look()];
  // Draws again at another width, and in another theme: the surface is painted in its colours.
  function follow({ type }) {
    const [wide, was] = drawn;
    if (!root.clientWidth) return;
    if (Math.abs(root.clientWidth - wide) < 8 && look() === was)
      return type === "resize" && (stage.on() ? draw() : fit());
    drawn = [root.clientWidth, look()];
    const key = root.contains(document.activeElement) && document.activeElement.className;
    draw();
    if (key && !root.contains(document.activeElement))
      root.querySelector(`.${key.split(" ")[0]}`)?.focus();
  }
  new ResizeObserver(follow).observe(root);
  // the page outlives a view whose cell is run again; JupyterLab shows nothing while it changes
  // the theme
  const kept = new WeakRef(follow),
    told = (event) => requestAnimationFrame(() => kept.deref()?.(event)),
    themed = new MutationObserver(told);
  for (const one of [root, document.body])
    themed.observe(one, { attributeFilter: ["data-theme", "data-jp-theme-light"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", told);
  addEventListener("resize", told); // of the window, whose end is the panels'
  return root;
}

function grouped(names) {
  const out = {};
  for (const name of names) {
    const low = name.toLowerCase();
    const kind =
      low.includes("loss") || low.includes("error")
        ? "loss"
        : low.includes("acc")
          ? "accuracy"
          : "other";
    (out[kind] ??= []).push(name);
  }
  return out;
}

const spoken = (name, { epochs, values }, t) =>
  values.length
    ? t("curveSaid", {
        name,
        first: text(values[0]),
        from: text(epochs[0]),
        last: text(values.at(-1)),
        to: text(epochs.at(-1)),
      })
    : "";

/** What stands in the view's place where the document cannot be read. */
export function failed(host, error) {
  host.replaceChildren(
    h("p", { class: "mt-root", role: "alert" }, error?.message ?? String(error)),
  );
}

export default {
  render({ model, el }) {
    const moved = (to) => {
      model.set("at", to);
      try {
        model.save_changes();
      } catch {
        /* the kernel is gone; the view goes on */
      }
    };
    let root = null,
      asked = 0;
    // Unpacking takes a moment, in which a further state may come: only the newest is shown.
    function show() {
      const mine = ++asked,
        running = model.get("running");
      return unpacked(model.get("packed"))
        .then((history) => {
          if (mine !== asked) return;
          if (root) root.update(history, running);
          else
            root = mount(el, history, {
              running,
              at: model.get("at"),
              lang: model.get("lang"),
              moved,
            });
        })
        .catch((error) => mine === asked && failed(el, error));
    }
    const follow = () => root?.go(model.get("at")),
      ended = () => root?.end(); // the kernel was killed or started again
    show();
    model.on("change:packed change:running", show);
    model.on("change:at", follow);
    model.on("comm_live_update", ended);
    return () => {
      asked++;
      model.off("change:packed change:running", show);
      model.off("change:at", follow);
      model.off("comm_live_update", ended);
    };
  },
};

export { fromBase64, listenFirstKey, unpacked };
