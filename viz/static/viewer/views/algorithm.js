// The reverse-mode algorithm: its present line, the dictionary from nodes to partial adjoints, and
// the backward graph, growing together.

import { curve } from "../cards.js";
import { announced, h, motion, onceDrawn, s, tableHead } from "../dom.js";
import { nodesOf } from "../fold.js";
import { adjointHead, labelOf, nodeName, svgRuns, symbolRuns } from "../formulas.js";
import { solve } from "../layout.js";
import { inLines } from "../lines.js";
import { short } from "../numbers.js";

const LINES = 7; // of pseudo-code; their words stand in texts.js
const MOST_DRAWN = 80; // nodes up to which the backward graph is drawn

// The contributions to the adjoints, and their sums.
export const dictionaryTable = (t, rows) =>
  h(
    "table",
    { class: "mg-table mg-dictionary" },
    h("caption", null, t("dictionary")),
    tableHead(
      h("th", { scope: "col" }, t("node")),
      h("th", { scope: "col" }, t("partials")),
      h("th", { scope: "col", class: "mg-num" }, t("sum")),
    ),
    rows,
  );

// What each step did to the dictionary: {from, parts: [[node, text]], lines}.
function events(trace) {
  const user = new Map(trace.edges.map((e) => [e.id, e]));
  let last = null,
    ended = trace.steps.length;
  trace.steps.forEach((step, i) => {
    if (
      step.phase === "adjoint" ||
      step.phase === "accumulate" ||
      (step.phase === "seed" && step.writes?.[0]?.[1] === "g")
    )
      ended = i;
  });
  return trace.steps.map((step, i) => {
    if (step.writes?.[0]?.[1] !== "g") return null;
    if (step.phase === "seed")
      return { node: step.node, parts: [step.writes[0][2]], lines: [0], edges: [] };
    if (step.phase !== "adjoint" && step.phase !== "accumulate")
      return { node: step.node, replace: step.writes[0][2], parts: [], lines: [], edges: [] };
    const from = user.get(step.edges?.[0])?.dst,
      lines = from === last ? [3, 4, 5] : [1, 2, 3, 4, 5];
    last = from;
    const parts = (step.contribs ?? []).map((c) => c.product);
    return {
      node: step.node,
      from,
      parts: parts.length ? parts : [step.writes[0][2]],
      lines: i === ended ? [...lines, 6] : lines,
      edges: step.edges ?? [],
    };
  });
}

export const algorithmView = {
  name: "algorithm",
  title: { en: "The reverse-mode algorithm", zh: "反向模式算法" },
  ready: (trace) => trace.columns.some((c) => c.key === "g") && !trace.passes?.length,
  // Long: a closure, whose functions share these elements and the state.
  make({ trace, t, stateAt, width }) {
    const all = events(trace),
      byId = nodesOf(trace),
      name = (id) => nodeName(byId.get(id));
    // in its lines the outputs have their names, and a variable has that of no node
    const taken = trace.nodes.map(nodeName),
      [v, u] = [..."vunmkpqr"].filter((letter) => !taken.includes(letter)),
      seeds = Object.keys(trace.seed?.adjoints ?? {})
        .map((id) => `${name(id)} : [ ${t("seed")} ]`)
        .join(", ");
    const lines = Array.from({ length: LINES }, (_, i) =>
      h(
        "li",
        { class: "mg-line", value: i + 1 },
        h("code", null, t(`algorithm${i}`, { seeds, v, u })),
        h("span", { class: "mg-hidden" }, ` (${t("line", { i: i + 1 })})`),
      ),
    );
    const rows = h("tbody"),
      working = announced();
    const dictionary = dictionaryTable(t, rows);
    const many = new Set(all.filter(Boolean).map((one) => one.node)).size,
      graph = many && many <= MOST_DRAWN ? backwardGraph(trace, t, all, width() - 60) : null;
    const bar = (id) => adjointHead(byId.get(id), t);
    const held = h(
      "div",
      {
        class: "mg-scroll mg-held-by",
        tabindex: "0",
        role: "group",
        "aria-label": t("dictionary"),
      },
      dictionary,
    );
    function toTheActiveRow() {
      const row = rows.querySelector(".mg-active")?.getBoundingClientRect(),
        seen = held.getBoundingClientRect();
      if (row && (row.top < seen.top || row.bottom > seen.bottom))
        held.scrollTop += row.top - seen.top - seen.height / 2;
    }
    return {
      box: h(
        "div",
        { class: "mg-algorithm" },
        h("ol", { class: "mg-pseudo" }, lines),
        h("div", null, working, held),
        graph?.box,
      ),
      update(k, step) {
        const done = all.slice(0, k).filter(Boolean),
          now = k ? all[k - 1] : null,
          grad = new Map();
        for (const one of done)
          grad.set(
            one.node,
            one.replace === undefined
              ? [...(grad.get(one.node) ?? []), ...one.parts]
              : [one.replace],
          );
        lines.forEach((line, i) => {
          line.classList.toggle("mg-current", Boolean(now?.lines.includes(i)));
          if (now?.lines.at(-1) === i) line.setAttribute("aria-current", "step");
          else line.removeAttribute("aria-current");
        });
        const state = stateAt(k);
        rows.replaceChildren(
          ...[...grad].map(([id, parts]) =>
            h(
              "tr",
              { "data-node": id, class: now?.node === id ? "mg-active" : null },
              h("th", { scope: "row" }, bar(id)),
              h(
                "td",
                null,
                parts.map((part, i) =>
                  h(
                    "span",
                    {
                      class:
                        now?.node === id && i >= parts.length - now.parts.length
                          ? "mg-part mg-new"
                          : "mg-part",
                    },
                    short(part),
                  ),
                ),
              ),
              h("td", { class: "mg-num mg-c-g" }, short(state.get(`${id}\u0000g`))),
            ),
          ),
        );
        working.textContent = now?.from
          ? t("working", { v, node: name(now.from) })
          : grad.size
            ? ""
            : t("dictionaryEmpty");
        graph?.update(done, now);
        onceDrawn(toTheActiveRow);
      },
    };
  },
};

// The graph that the reverse sweep builds: of the nodes that get an adjoint, from the output on the
// left to the inputs on the right. What is still to come stands there faintly, so that nothing
// moves while it grows.
// Long: a closure, whose functions share these elements and the state.
function backwardGraph(trace, t, all, space) {
  const reached = new Set(all.filter(Boolean).map((one) => one.node)),
    sent = new Set(all.flatMap((one) => one?.edges ?? []));
  const tall = 34,
    cards = new Map(),
    wires = new Map(),
    under = s("g"),
    over = s("g");
  const runs = (node) => symbolRuns({ ...labelOf(node), accent: "bar" });
  const sizes = new Map(
    [...trace.nodes]
      .reverse()
      .filter((node) => reached.has(node.id))
      .map((node) => [node.id, [Math.max(64, 28 + 10 * Array.from(nodeName(node)).length), tall]]),
  );
  const edges = trace.edges
    .filter((e) => sent.has(e.id) && reached.has(e.dst))
    .map((e) => ({ id: e.id, src: e.dst, dst: e.src }));
  const flat = solve(sizes, edges),
    place = (0.66 * flat.width > space && inLines(flat, edges, Math.max(space, 280) / 0.9)) || flat;
  for (const [id, { points }] of Object.entries(place.edges)) {
    const [x, y] = points.at(-1),
      wire = s(
        "g",
        { class: "mg-edge mg-off" },
        s("path", { d: curve([...points.slice(0, -1), [x - 8, y]]), class: "mg-wire" }),
        s("path", { d: `M${x} ${y}l-10 -4.5v9z`, class: "mg-tip" }),
      );
    wires.set(id, wire);
    under.append(wire);
  }
  for (const node of trace.nodes.filter((one) => reached.has(one.id))) {
    const { x, y, w } = place.nodes[node.id],
      card = s(
        "g",
        { class: "mg-bnode mg-off" },
        s("rect", {
          x: x - w / 2,
          y: y - tall / 2,
          width: w,
          height: tall,
          rx: 8,
          class: "mg-card",
        }),
        s("text", { x, y: y + 5, class: "mg-heading" }, svgRuns(runs(node))),
      );
    cards.set(node.id, card);
    over.append(card);
  }
  const svg = s(
    "svg",
    {
      viewBox: `0 0 ${place.width} ${place.height}`,
      class: "mg-backward",
      role: "img",
      "aria-label": t("backwardGraph"),
    },
    under,
    over,
  );
  // drawn smaller where there is no space, down to two thirds; then it scrolls
  svg.style.width = `${place.width}px`;
  svg.style.minWidth = `${0.66 * place.width}px`;
  const box = h(
    "div",
    {
      class: "mg-scroll mg-backbox",
      tabindex: "0",
      role: "group",
      "aria-label": t("backwardGraph"),
    },
    svg,
  );
  let followed = null;
  function follow() {
    const scale = svg.clientWidth / place.width,
      x = place.nodes[followed].x * scale;
    if (x - 80 * scale < box.scrollLeft || x + 80 * scale > box.scrollLeft + box.clientWidth)
      box.scrollTo({ left: x - box.clientWidth / 2, behavior: motion(true) });
  }
  return {
    box,
    update(done, now) {
      const born = new Set(done.map((one) => one.node)),
        sent = new Set(done.flatMap((one) => one.edges));
      for (const [id, card] of cards) {
        card.classList.toggle("mg-off", !born.has(id));
        card.classList.toggle("mg-write", now?.node === id);
        card.classList.toggle("mg-read", now?.from === id);
      }
      for (const [id, wire] of wires) {
        wire.classList.toggle("mg-off", !sent.has(id));
        wire.classList.toggle("mg-lit", Boolean(now?.edges.includes(id)));
      }
      if (!now) return;
      followed = now.node;
      onceDrawn(follow);
    },
  };
}
