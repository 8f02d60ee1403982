// The memory lens: which values the reverse pass keeps, when each is read, when it is freed, and
// how many bytes that is at every step.

import { announced, h, note, s } from "../dom.js";
import { keeps, nodesOf } from "../fold.js";
import { nodeName } from "../formulas.js";
import { bytesText, counted } from "../numbers.js";

const MOST_LANES = 24; // lanes on view, the largest first

const WIDTHS = { bool: 1, bfloat16: 2, complex64: 8, complex128: 16 };
export const bytesOf = (node) => {
  const each = WIDTHS[node.dtype] ?? Number(/\d+$/.exec(node.dtype)?.[0] ?? 64) / 8;
  return (node.shape ?? []).reduce((a, b) => a * b, 1) * each;
};

// For each kept value: from which step, until which, and the steps that read it. An operation keeps
// its values from the step that ran it until a step lets them go; a checkpoint lets them go early,
// and keeps them again where it computes them again.
export function lifetimes(trace) {
  const { nodes, edges, steps } = trace,
    byId = nodesOf(trace),
    n = steps.length;
  const spans = new Map(),
    user = new Map(edges.map((e) => [e.id, e.dst])),
    lanes = new Map(),
    held = (id) => spans.get(id)?.at(-1)?.[1] === n + 1;
  function laneOf(node) {
    const { id } = node;
    if (!lanes.has(id))
      lanes.set(id, { node, bytes: bytesOf(node), spans: [], reads: [], holds: [] });
    return lanes.get(id);
  }
  steps.forEach((step, i) => {
    const begins = step.phase === "primal" && !spans.has(step.node) ? [step.node] : [];
    for (const id of [...begins, ...(step.keep ?? [])])
      if (!held(id))
        spans.set(id, [...(spans.get(id) ?? []), [i + 1, n + 1, step.keep?.includes(id)]]);
    for (const id of step.free ?? []) if (held(id)) spans.get(id).at(-1)[1] = i + 1;
  });
  for (const node of nodes)
    for (const id of node.saved ?? []) {
      const value = byId.get(id);
      if (!value || !spans.has(node.id)) continue;
      laneOf(value).spans.push(...spans.get(node.id));
    }
  steps.forEach((step, i) => {
    for (const id of step.holds ?? []) {
      // what a checkpoint begins from again, until it is freed
      const lane = laneOf(byId.get(id)),
        span = [i + 1, n + 1, false];
      lane.spans.push(span);
      lane.holds.push(span);
    }
    for (const id of step.drops ?? []) {
      const span = lanes.get(id)?.holds.pop();
      if (span) span[1] = i + 1;
    }
    if (step.phase === "primal" && step.keep)
      for (const [id] of step.reads) lanes.get(id)?.reads.push(i + 1);
    if (step.phase !== "adjoint" && step.phase !== "accumulate") return;
    const all = [...new Set((step.edges ?? []).map((e) => user.get(e)))].flatMap(
      (id) => byId.get(id)?.saved ?? [],
    );
    for (const saved of new Set(step.uses ?? all)) lanes.get(saved)?.reads.push(i + 1);
  });
  return [...lanes.values()];
}

// Bytes held after each step; a value that several operations keep counts once.
export function heldOver(lanes, n) {
  const held = Array(n + 1).fill(0);
  for (const lane of lanes) {
    const alive = Array(n + 1).fill(false);
    for (const [from, until] of lane.spans)
      for (let k = from; k < Math.min(until, n + 1); k++) alive[k] = true;
    alive.forEach((on, k) => {
      if (on) held[k] += lane.bytes;
    });
  }
  return held;
}

export const memoryView = {
  name: "memory",
  title: { en: "Memory lens", zh: "内存透镜" },
  ready: (trace) =>
    keeps(trace) && !trace.passes?.length && !trace.nodes.some((node) => node.memory),
  // Long: a closure, whose functions share these elements and the state.
  make(host) {
    const { trace, t, move } = host;
    const n = trace.steps.length,
      lanes = lifetimes(trace),
      held = heldOver(lanes, n),
      peak = Math.max(...held),
      at = held.indexOf(peak);
    const shown = [...lanes]
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, MOST_LANES)
      .sort((a, b) => a.spans[0][0] - b.spans[0][0]);
    const row = shown.length > 8 ? 16 : 26, // few are higher
      top = 3 * row,
      tall = top + shown.length * row;
    const level = (k) => top - 8 - (peak ? (held[k] / peak) * (top - 12) : 0);
    const area =
      held.map((_, k) => `${k ? "L" : "M"}${k} ${level(k)}L${k + 1} ${level(k)}`).join("") +
      `L${n + 1} ${top - 8}L0 ${top - 8}Z`;
    const cursor = s("path", { class: "mg-cursor" });
    const bars = shown.flatMap((lane, i) => {
      const y = top + i * row;
      return [
        ...lane.spans.map(([from, until, again]) =>
          s("path", {
            d: `M${from} ${y + 3}H${until}v${row - 7}H${from}z`,
            class: again ? "mg-lane mg-again" : "mg-lane",
          }),
        ),
        ...lane.reads.map((k) =>
          s("path", { d: `M${k - 0.5} ${y + 1}v${row - 3}`, class: "mg-tick" }),
        ),
      ];
    });
    const plot = s(
      "svg",
      {
        class: "mg-lanes",
        viewBox: `0 0 ${n + 1} ${tall}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": t("memoryPlot", { n: lanes.length, peak: bytesText(peak), at }),
      },
      s("path", { d: area, class: "mg-bytes" }),
      bars,
      cursor,
    );
    plot.style.height = `${tall}px`;
    plot.addEventListener("click", (event) => {
      const place = plot.getBoundingClientRect();
      move(Math.round(((event.clientX - place.left) / place.width) * (n + 1)));
    });
    const names = shown.map((lane) =>
      h(
        "li",
        { "data-node": lane.node.id },
        nodeName(lane.node),
        " ",
        h("small", null, bytesText(lane.bytes)),
      ),
    );
    const now = announced(),
      list = h("ul", { class: "mg-lanenames" }, names);
    list.style.cssText = `padding-top:${top}px;line-height:${row}px`;
    const rest =
      lanes.length > shown.length &&
      note(t("further", { n: lanes.length - shown.length }));
    const freeing = trace.steps.some((step) => step.free?.length);
    const sample = (kind, d, word) =>
      h(
        "span",
        null,
        s("svg", { class: "mg-square", viewBox: "0 0 14 14" }, s("path", { class: kind, d })),
        t(word),
      );
    const legend = h(
      "div",
      { class: "mg-lanekey" },
      sample("mg-bytes", "M0 12V6h7V2h7v10z", "memoryBytes"),
      sample("mg-lane", "M0 3h14v8h-14z", "memoryHeld"),
      shown.some((lane) => lane.reads.length) && sample("mg-tick", "M7 0v14", "read"),
      shown.some((lane) => lane.spans.some(([, , again]) => again)) &&
        sample("mg-lane mg-again", "M1 3h12v8h-12z", "memoryTwice"),
    );
    return {
      box: h(
        "div",
        null,
        now,
        legend,
        h("div", { class: "mg-memory" }, list, plot),
        rest,
        !freeing && note(t("memoryKept")),
      ),
      update(k, step) {
        cursor.setAttribute("d", `M${k} 0V${tall}`);
        const alive = lanes.filter((lane) =>
            lane.spans.some(([from, until]) => from <= k && k < until),
          ),
          read = lanes.filter((lane) => lane.reads.includes(k));
        const parts = [
          t("memoryNow", {
            bytes: bytesText(held[k]),
            values: counted(alive.length, t),
            peak: bytesText(peak),
            at,
          }),
        ];
        if (read.length)
          parts.push(
            t("memoryRead", { names: read.map((lane) => nodeName(lane.node)).join(", ") }),
          );
        if (step?.keep?.length) parts.push(t("memoryAgain", { names: step.keep.join(", ") }));
        if (step?.free?.length)
          parts.push(
            t(step.phase === "free" ? "memoryGone" : "memoryFree", { names: step.free.join(", ") }),
          );
        if (step?.drops?.length)
          parts.push(t("memoryDrop", { names: [...new Set(step.drops)].join(", ") }));
        now.textContent = parts.join(" ");
        shown.forEach((lane, i) => {
          names[i].classList.toggle("mg-held", alive.includes(lane));
          names[i].classList.toggle("mg-isread", read.includes(lane));
        });
      },
    };
  },
};
