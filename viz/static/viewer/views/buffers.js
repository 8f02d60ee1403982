// Buffers in time: a Program's results lie in pieces of one block of memory, and a piece that
// is not read any more is written again. Steps run to the right, addresses downwards; each value
// is a box as wide as it lives. Above: the bytes alive, and what they would be without reuse.

import { announced, h, note, s } from "../dom.js";
import { nodeName } from "../formulas.js";
import { bytesText, counted } from "../numbers.js";

const ACROSS = 400, // units, about as many pixels
  PLOT_TOP = 64,
  PLOT_GAP = 10;

// For each value with memory of its own: from which step until which it lives. A result may be
// written over an operand that is not needed any more: then that one ends where the new one begins.
export function lives(trace) {
  const { nodes, steps } = trace,
    n = steps.length,
    made = new Map(),
    gone = new Map();
  steps.forEach((step, i) => {
    if (step.phase === "primal" && !made.has(step.node)) made.set(step.node, i + 1);
    for (const id of step.free ?? []) gone.set(id, i + 1);
  });
  const found = nodes
    .filter((node) => node.memory?.bytes && made.has(node.id))
    .map((node) => ({
      node,
      ...node.memory,
      from: made.get(node.id),
      until: gone.get(node.id) ?? n + 1,
    }));
  for (const one of found)
    for (const other of found)
      if (
        one.at !== undefined &&
        other.at !== undefined &&
        other.from > one.from &&
        other.at < one.at + one.bytes &&
        one.at < other.at + other.bytes
      )
        one.until = Math.min(one.until, other.from);
  return found;
}

// Long: a closure, whose functions share these elements and the state.
function buffersPicture({ trace, t, move }) {
  const n = trace.steps.length,
    all = lives(trace),
    placed = all.filter((one) => one.at !== undefined);
  const size = Math.max(1, ...placed.map((one) => one.at + one.bytes)),
    tall = placed.length
      ? Math.min(300, Math.max(110, 26 * new Set(placed.map((one) => one.at)).size))
      : 0;
  const x = (k) => (k / (n + 1)) * ACROSS,
    y = (at) => PLOT_TOP + PLOT_GAP + (at / size) * tall;
  const over = (keep) =>
    Array.from({ length: n + 1 }, (_, k) =>
      all.reduce((sum, one) => sum + (one.from <= k && (keep || k < one.until) ? one.bytes : 0), 0),
    );
  const alive = over(false),
    kept = over(true),
    most = Math.max(1, ...kept),
    peak = Math.max(...alive),
    at = alive.indexOf(peak);
  const level = (bytes) => PLOT_TOP - 4 - (bytes / most) * (PLOT_TOP - 12);
  const stairs = (values) =>
    values
      .map((bytes, k) => `${k ? "L" : "M"}${x(k)} ${level(bytes)}L${x(k + 1)} ${level(bytes)}`)
      .join("");
  const boxes = placed.map((one) => {
    const wide = x(one.until) - x(one.from),
      high = Math.max(4, (one.bytes / size) * tall - 2),
      name = nodeName(one.node);
    const fits = wide > 9 * name.length && high >= 12;
    return {
      one,
      box: s(
        "g",
        {
          class: `mg-buffer mg-stage-${one.node.stage === "primal" ? 0 : 1}`,
          "data-node": one.node.id,
        },
        s("title", null, name),
        s("rect", {
          x: x(one.from) + 1,
          y: y(one.at) + 1,
          width: Math.max(2, wide - 2),
          height: high,
          rx: 3,
        }),
        fits &&
          s("text", { x: (x(one.from) + x(one.until)) / 2, y: y(one.at) + high / 2 + 5 }, name),
      ),
    };
  });
  const cursor = s("path", { class: "mg-cursor" }),
    bottom = PLOT_TOP + PLOT_GAP + tall + 4;
  const plot = s(
    "svg",
    {
      class: "mg-buffers",
      viewBox: `0 0 ${ACROSS} ${bottom}`,
      role: "img",
      "aria-label": t("buffersPlot", {
        values: counted(placed.length, t),
        pieces: new Set(placed.map((one) => one.at)).size,
        bytes: bytesText(size),
      }),
    },
    s("path", {
      d: `${stairs(alive)}L${ACROSS} ${PLOT_TOP - 4}L0 ${PLOT_TOP - 4}Z`,
      class: "mg-bytes",
    }),
    s("path", { d: stairs(kept), class: "mg-withoutreuse" }),
    s("rect", { x: 0, y: PLOT_TOP + PLOT_GAP, width: ACROSS, height: tall, class: "mg-arena" }),
    boxes.map(({ box }) => box),
    cursor,
  );
  plot.addEventListener("click", (event) => {
    const place = plot.getBoundingClientRect();
    move(Math.min(n, Math.floor(((event.clientX - place.left) / place.width) * (n + 1))));
  });
  const pieces = new Map();
  for (const one of placed) pieces.set(one.at, [...(pieces.get(one.at) ?? []), one]);
  const list = h(
    "ul",
    { class: "mg-pieces", "aria-label": t("buffersList") },
    [...pieces]
      .sort(([a], [b]) => a - b)
      .map(([from, held]) =>
        h(
          "li",
          null,
          `${t("atByte", { at: from })} `,
          held.map((one, i) => [
            i ? " → " : "",
            h(
              "span",
              { "data-node": one.node.id, title: bytesText(one.bytes) },
              nodeName(one.node),
            ),
          ]),
        ),
      ),
  );
  const now = announced();
  const { buffers, all: everything, unplanned } = trace.memory ?? {};
  return {
    box: h(
      "div",
      null,
      note(t("buffersWhat")),
      now,
      plot,
      trace.memory &&
        h(
          "p",
          { class: "mg-note" },
          t("buffersTotals", {
            buffers: bytesText(buffers),
            all: bytesText(everything),
            unplanned: bytesText(unplanned),
          }),
        ),
      list,
    ),
    update(k, step) {
      cursor.setAttribute("d", `M${x(k + 0.5)} 0V${bottom}`);
      for (const { one, box } of boxes)
        box.classList.toggle("mg-held", one.from <= k && k < one.until);
      const parts = [
        t("buffersNow", {
          bytes: bytesText(alive[k]),
          values: counted(all.filter((one) => one.from <= k && k < one.until).length, t),
          peak: bytesText(peak),
          at,
        }),
      ];
      const made = placed.find((one) => one.from === k && one.node.id === step?.node);
      const before =
        made &&
        placed
          .filter(
            (one) => one.from < k && one.at < made.at + made.bytes && made.at < one.at + one.bytes,
          )
          .at(-1);
      if (before)
        parts.push(t("buffersReuse", { node: nodeName(made.node), before: nodeName(before.node) }));
      if (step?.free?.length) parts.push(t("buffersFree", { names: step.free.join(", ") }));
      now.textContent = parts.join(" ");
    },
  };
}

// In the memory lens's place: a Program keeps nothing for a reverse pass, and has buffers.
export const buffersView = {
  name: "memory",
  title: { en: "Memory lens", zh: "内存透镜" },
  ready: (trace) => trace.nodes.some((node) => node.memory),
  make: buffersPicture,
};
