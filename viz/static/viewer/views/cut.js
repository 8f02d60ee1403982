// The cut lens: wherever the graph is cut, between inputs and output, the sum of contribution times
// tangent over the edges that cross the cut is the same number: the derivative in the seeded
// direction.

import { announced, h, note, s } from "../dom.js";
import { nodesOf } from "../fold.js";
import { math } from "../formulas.js";
import { short } from "../numbers.js";
import { close, inner } from "../sums.js";

const MOST_TERMS = 12; // terms written out

export const cutView = {
  name: "cut",
  title: { en: "Cut lens", zh: "切割透镜" },
  ready: (trace) =>
    ["d", "g"].every((key) => trace.columns.some((c) => c.key === key)) && !trace.passes?.length,
  // Long: a closure, whose functions share these elements and the state.
  make({ trace, t, graph, placeOf, keep }) {
    const order = new Map(trace.nodes.map((node, i) => [node.id, i])),
      byId = nodesOf(trace);
    const first = 1 + Math.max(0, ...(trace.inputs ?? []).map((id) => order.get(id))),
      last = trace.nodes.length;
    const slider = h("input", {
      type: "range",
      class: "mg-slider mg-cutslider",
      min: first,
      max: last,
      value: Math.min(last, Math.max(first, placeOf("cut") ?? first)),
      "aria-label": t("cutPlace"),
      oninput: () => {
        show();
        keep("cut", Number(slider.value));
      },
    });
    const terms = h("div", { class: "mg-terms" }),
      said = announced(),
      veil = s("path", { class: "mg-cutmark", "aria-hidden": "true" });
    let known = [],
      at = { d: new Map() };
    // The terms of the cut behind the first `size` nodes: edges that cross it, and outputs that lie
    // before it with their seeds.
    function crossing(size) {
      const found = [];
      for (const { edge, product } of known)
        if (order.get(edge.src) < size && order.get(edge.dst) >= size && at.d.has(edge.src))
          found.unshift({ node: edge.src, edge, product, tangent: at.d.get(edge.src) });
      for (const [id, seed] of Object.entries(trace.seed?.adjoints ?? {}))
        if (order.get(id) < size && at.d.has(id) && at.seeded)
          found.push({ node: id, product: seed, tangent: at.d.get(id) });
      return found.sort((a, b) => order.get(a.node) - order.get(b.node));
    }
    // How many terms the finished Trace has at this cut, whatever is computed by now.
    const expected = (size) =>
      trace.edges.filter(
        (e) =>
          order.get(e.src) < size &&
          order.get(e.dst) >= size &&
          at.all.has(e.id) &&
          at.tangents.has(e.src),
      ).length +
      Object.keys(trace.seed?.adjoints ?? {}).filter(
        (id) => order.get(id) < size && at.tangents.has(id),
      ).length;
    function show() {
      const size = Number(slider.value),
        found = crossing(size),
        products = found.map((term) => inner(term.product, term.tangent));
      const name = byId.get(trace.nodes[size - 1].id).id,
        complete = found.length === expected(size);
      slider.setAttribute("aria-valuetext", t("cutAfter", { node: name }));
      slider.style.setProperty("--mg-at", last > first ? (size - first) / (last - first) : 0);
      const nameOf = (id) => math([{ t: "sym", ...byId.get(id).label }]);
      const num = (value, col) => ({ t: "num", value, col }),
        op = (text) => ({ t: "op", text });
      const line = found
        .slice(0, MOST_TERMS)
        .map((term, i) =>
          h(
            "li",
            null,
            nameOf(term.node),
            ...(term.edge ? [" → ", nameOf(term.edge.dst), ": "] : [`, ${t("seed")}: `]),
            products[i] === null
              ? t("cutSummary")
              : math([
                  num(term.product, "g"),
                  op("·"),
                  num(term.tangent, "d"),
                  op("="),
                  num(products[i]),
                ]),
          ),
        );
      terms.replaceChildren(
        h("ul", null, line),
        ...(found.length > MOST_TERMS
          ? [note(t("further", { n: found.length - MOST_TERMS }))]
          : []),
      );
      const sum = products.some((p) => p === null) ? null : products.reduce((a, b) => a + b, 0);
      const whole = sums(),
        same = whole !== null && sum !== null && close(sum, whole, 1e-6);
      said.textContent = !complete
        ? t("cutEarly")
        : sum === null
          ? t("cutSummary")
          : t(same ? "cutSum" : "cutBroken", { sum: short(sum), node: name, whole: short(whole) });
      draw(size, found);
    }
    // What the output itself carries: the cut behind all nodes.
    const sums = () => {
      const all = crossing(last).map((term) => inner(term.product, term.tangent));
      return all.length && !all.includes(null) ? all.reduce((a, b) => a + b, 0) : null;
    };
    function draw(size, found) {
      if (!graph) return;
      const lit = new Set(
        found.map((term) => term.edge && graph.wire(term.edge.id)).filter(Boolean),
      );
      for (const e of trace.edges)
        graph.wire(e.id)?.group.classList.toggle("mg-cut", lit.has(graph.wire(e.id)));
      const behind = new Set(trace.nodes.slice(0, size).map((node) => graph.stands(node.id)));
      for (const [id, card] of graph.cards())
        card.group.classList.toggle("mg-before", behind.has(id));
      const places = [...lit].map(({ cut }) => cut).sort((a, b) => a[1] - b[1]),
        line = places.map(([x, y], i) => `${i ? "L" : "M"}${x} ${y - 13}v26`).join("");
      veil.setAttribute("d", line);
      if (!veil.isConnected) graph.svg.prepend(veil); // behind the cards
    }
    return {
      box: h("div", null, note(t("cutWhat")), slider, terms, said),
      update(k) {
        const edge = new Map(trace.edges.map((e) => [e.id, e]));
        known = [];
        at = { d: new Map(), seeded: false, all: new Set(), tangents: new Set() };
        trace.steps.forEach((step, i) => {
          const back = step.phase === "adjoint" || step.phase === "accumulate";
          if (back) for (const c of step.contribs ?? []) at.all.add(c.edge);
          for (const [id, column, value] of step.writes ?? []) {
            if (column === "d") at.tangents.add(id);
            if (i < k && column === "d") at.d.set(id, value);
            if (i < k && column === "g" && step.phase === "seed") at.seeded = true;
          }
          if (back && i < k)
            for (const c of step.contribs ?? [])
              known.push({ edge: edge.get(c.edge), product: c.product });
        });
        show();
      },
      destroy() {
        draw(0, []);
        veil.remove();
      },
    };
  },
};
