// The reverse-mode algorithm: its present line, the dictionary from nodes to partial adjoints, and the backward graph, growing together.

import { curve } from "../cards.js";
import { h, s } from "../dom.js";
import { adjointHead, nodeName } from "../formulas.js";
import { short } from "../numbers.js";

const LINES = 7; // of pseudo-code; their words stand in texts.js
const MOST_DRAWN = 80; // nodes up to which the backward graph is drawn

// What each step did to the dictionary: {from, parts: [[node, text]], lines}.
function events(trace) {
  const user = new Map(trace.edges.map((e) => [e.id, e]));
  let last = null, ended = trace.steps.length;
  trace.steps.forEach((step, i) => { if (step.phase === "adjoint" || step.phase === "accumulate" || (step.phase === "seed" && step.writes?.[0]?.[1] === "g")) ended = i; });
  return trace.steps.map((step, i) => {
    if (step.writes?.[0]?.[1] !== "g") return null;
    if (step.phase === "seed") return { node: step.node, parts: [step.writes[0][2]], lines: [0], edges: [] };
    if (step.phase !== "adjoint" && step.phase !== "accumulate") return { node: step.node, replace: step.writes[0][2], parts: [], lines: [], edges: [] };
    const from = user.get(step.edges?.[0])?.dst, lines = from === last ? [3, 4, 5] : [1, 2, 3, 4, 5];
    last = from;
    const parts = (step.contribs ?? []).map((c) => c.product);
    return { node: step.node, from, parts: parts.length ? parts : [step.writes[0][2]], lines: i === ended ? [...lines, 6] : lines, edges: step.edges ?? [] };
  });
}

export const algorithmView = {
  name: "algorithm",
  ready: (trace) => trace.columns.some((c) => c.key === "g") && !trace.passes?.length,
  make({ trace, t, stateAt }) {
    const all = events(trace), byId = new Map(trace.nodes.map((node) => [node.id, node]));
    const lines = Array.from({ length: LINES }, (_, i) => h("li", { class: "mg-line" }, h("code", null, t(`algorithm${i}`)), h("span", { class: "mg-hidden" }, ` (${t("line", { i: i + 1 })})`)));
    const rows = h("tbody"), working = h("p", { class: "mg-sumup", role: "status" });
    const dictionary = h("table", { class: "mg-table mg-dictionary" }, h("caption", null, t("dictionary")),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, t("node")), h("th", { scope: "col" }, t("partials")), h("th", { scope: "col", class: "mg-num" }, t("sum")))), rows);
    const graph = trace.layout && trace.nodes.length <= MOST_DRAWN ? backwardGraph(trace, t) : null;
    const bar = (id) => adjointHead(byId.get(id), t);
    return {
      box: h("div", { class: "mg-algorithm" }, h("ol", { class: "mg-pseudo" }, lines),
        h("div", { class: "mg-scroll", tabindex: "0", role: "group", "aria-label": t("dictionary") }, working, dictionary), graph?.box),
      update(k, step) {
        const done = all.slice(0, k).filter(Boolean), now = k ? all[k - 1] : null, grad = new Map();
        for (const one of done) grad.set(one.node, one.replace === undefined ? [...(grad.get(one.node) ?? []), ...one.parts] : [one.replace]);
        lines.forEach((line, i) => {
          line.classList.toggle("mg-current", Boolean(now?.lines.includes(i)));
          if (now?.lines.at(-1) === i) line.setAttribute("aria-current", "step");
          else line.removeAttribute("aria-current");
        });
        const state = stateAt(k);
        rows.replaceChildren(...[...grad].map(([id, parts]) => h("tr", { "data-node": id, class: now?.node === id ? "mg-active" : null },
          h("th", { scope: "row" }, bar(id)),
          h("td", null, parts.map((part, i) => h("span", { class: now?.node === id && i >= parts.length - now.parts.length ? "mg-part mg-new" : "mg-part" }, short(part)))),
          h("td", { class: "mg-num mg-c-g" }, short(state.get(`${id}\u0000g`))))));
        working.textContent = now?.from ? t("working", { node: nodeName(byId.get(now.from)) }) : grad.size ? "" : t("dictionaryEmpty");
        graph?.update(done, now);
      },
    };
  },
};

// The graph that the reverse sweep builds: the same places mirrored, so that it too reads from left to right.
function backwardGraph(trace, t) {
  const { layout, nodes, edges } = trace, mirror = (x) => layout.width - x, tall = 30, cards = new Map(), wires = new Map(), under = s("g"), over = s("g");
  const place = (id) => layout.nodes[id], half = (id) => Math.min(60, place(id).w / 2);
  for (const e of edges) {
    const a = place(e.dst), b = place(e.src), x0 = mirror(a.x) + half(e.dst), x1 = mirror(b.x) - half(e.src);
    const lanes = (layout.edges[e.id]?.points ?? []).slice(1, -1).reverse().map(([x, y]) => [mirror(x), y]).filter(([x]) => x > x0 + 4 && x < x1 - 14);
    const shift = (e.slot ?? 0) * 7 - 3, wire = s("g", { class: "mg-edge mg-off" },
      s("path", { d: curve([[x0, a.y + shift], ...lanes, [x1 - 8, b.y + shift]]), class: "mg-wire" }), s("path", { d: `M${x1} ${b.y + shift}l-10 -4.5v9z`, class: "mg-tip" }));
    wires.set(e.id, wire);
    under.append(wire);
  }
  for (const node of nodes) {
    const { x, y } = place(node.id), card = s("g", { class: "mg-bnode mg-off" },
      s("rect", { x: mirror(x) - half(node.id), y: y - tall / 2, width: 2 * half(node.id), height: tall, rx: 8, class: "mg-card" }),
      s("text", { x: mirror(x), y: y + 5, class: "mg-heading" }, s("tspan", { class: "mg-i" }, `${node.label.base.slice(0, 1)}\u0304${node.label.base.slice(1)}`), node.label.sub ? s("tspan", { dy: 4, class: "mg-small" }, node.label.sub) : null));
    cards.set(node.id, card);
    over.append(card);
  }
  const svg = s("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, class: "mg-backward", role: "img", "aria-label": t("backwardGraph") }, under, over);
  return {
    box: h("div", { class: "mg-scroll mg-backbox", tabindex: "0", role: "group", "aria-label": t("backwardGraph") }, svg),
    update(done, now) {
      const born = new Set(done.map((one) => one.node)), sent = new Set(done.flatMap((one) => one.edges));
      for (const [id, card] of cards) {
        card.classList.toggle("mg-off", !born.has(id));
        card.classList.toggle("mg-write", now?.node === id);
        card.classList.toggle("mg-read", now?.from === id);
      }
      for (const [id, wire] of wires) {
        wire.classList.toggle("mg-off", !sent.has(id));
        wire.classList.toggle("mg-lit", Boolean(now?.edges.includes(id)));
      }
    },
  };
}
