// Legal orders: the reader picks which node the reverse sweep processes next. A pick is legal once
// all contributions to the node have arrived; an illegal one is refused, and the contribution that
// it lacks is named. Every legal order ends at the same adjoints.

import { h } from "../dom.js";
import { nodesOf } from "../fold.js";
import { adjointHead, nodeName } from "../formulas.js";
import { short } from "../numbers.js";
import { close, flat, total } from "../sums.js";
import { dictionaryTable } from "./algorithm.js";

const MOST_PICKS = 120; // nodes to pick from

// What the engine sent: for each node that passes something on, its contributions; and the seeds.
function recorded(trace) {
  const edge = new Map(trace.edges.map((e) => [e.id, e])),
    sends = new Map(),
    seeds = new Map();
  for (const step of trace.steps) {
    if (step.phase === "seed" && step.writes?.[0]?.[1] === "g")
      seeds.set(step.node, step.writes[0][2]);
    if (step.phase !== "adjoint" && step.phase !== "accumulate") continue;
    for (const c of step.contribs ?? []) {
      const { src, dst } = edge.get(c.edge);
      sends.set(dst, [...(sends.get(dst) ?? []), { to: src, edge: c.edge, product: c.product }]);
    }
  }
  return { sends, seeds };
}

export const ordersView = {
  name: "orders",
  title: { en: "Choose the order yourself", zh: "自己选择顺序" },
  ready: (trace) =>
    trace.columns.some((c) => c.key === "g") &&
    trace.nodes.length <= MOST_PICKS &&
    !trace.passes?.length &&
    trace.steps.some(
      (s) => s.contribs?.length && (s.phase === "adjoint" || s.phase === "accumulate"),
    ),
  // Long: a closure, whose functions share these elements and the state.
  make({ trace, t, stateAt, log, placeOf, keep }) {
    const { sends, seeds } = recorded(trace),
      byId = nodesOf(trace),
      name = (id) => nodeName(byId.get(id));
    const pickable = trace.nodes.map((node) => node.id).filter((id) => sends.has(id));
    const said = h("p", { class: "mg-sumup", role: "status", "aria-live": "polite" }),
      rows = h("tbody"),
      order = h("p", { class: "mg-note" });
    const end = stateAt(trace.steps.length),
      bar = (id) => adjointHead(byId.get(id), t);
    let done = (placeOf("orders") ?? []).filter((id) => pickable.includes(id));
    const waiting = (id) =>
      pickable.filter((user) => !done.includes(user) && sends.get(user).some((c) => c.to === id));
    const buttons = new Map(
      pickable.map((id) => [
        id,
        h(
          "button",
          { class: "mg-pick", "data-node": id, onclick: () => pick(id) },
          bar(id),
        ),
      ]),
    );
    // A button that leaves picks away: those from `end` on.
    function shorter(word, end) {
      const onclick = () => {
        done = done.slice(0, end);
        draw(t("ordersStart"));
      };
      return h("button", { class: "mg-fold", onclick }, t(word));
    }

    function pick(id) {
      if (done.includes(id)) return draw(t("ordersDone", { node: name(id) }));
      const lacks = waiting(id);
      log({ step: null, node: id, column: "order", answer: id, correct: !lacks.length });
      if (lacks.length)
        return draw(
          t("ordersLack", {
            node: name(id),
            lack: lacks.map((user) => `${name(user)} → ${name(id)}`).join(", "),
          }),
          true,
        );
      done = [...done, id];
      const sent = sends
        .get(id)
        .map((c) => t("ordersSent", { part: short(c.product), to: name(c.to) }))
        .join(", ");
      draw(done.length === pickable.length ? finish() : t("ordersTaken", { node: name(id), sent }));
    }
    const partsOf = (id) => [
      ...(seeds.has(id) ? [seeds.get(id)] : []),
      ...done.flatMap((user) =>
        sends
          .get(user)
          .filter((c) => c.to === id)
          .map((c) => c.product),
      ),
    ];
    function finish() {
      const arrived = new Set(done.flatMap((user) => sends.get(user).map((c) => c.to)));
      const same = [...arrived].every((id) => {
        const mine = flat(total(partsOf(id))),
          theirs = flat(end.get(`${id}\u0000g`));
        return !mine || !theirs || mine.every((v, i) => close(v, theirs[i], 1e-9));
      });
      return t(same ? "ordersSame" : "ordersOther");
    }
    function draw(text, refused = false) {
      if (done.join() !== (placeOf("orders") ?? []).join()) keep("orders", done);
      said.textContent = text;
      said.classList.toggle("mg-refused", refused);
      for (const [id, button] of buttons) {
        button.classList.toggle("mg-done", done.includes(id));
        button.setAttribute("aria-pressed", String(done.includes(id)));
      }
      order.textContent = t("ordersSoFar", { order: done.map(name).join(", ") });
      const ids = trace.nodes.map((node) => node.id).filter((id) => partsOf(id).length);
      rows.replaceChildren(
        ...ids.map((id) =>
          h(
            "tr",
            { "data-node": id },
            h("th", { scope: "row" }, bar(id)),
            h(
              "td",
              null,
              partsOf(id).map((part) => h("span", { class: "mg-part" }, short(part))),
            ),
            h("td", { class: "mg-num mg-c-g" }, short(total(partsOf(id)) ?? undefined)),
          ),
        ),
      );
    }
    draw(done.length && done.length === pickable.length ? finish() : t("ordersStart"));
    return {
      box: h(
        "div",
        null,
        h("div", { class: "mg-picks", role: "group", "aria-label": t("ordersStart") }, [
          ...buttons.values(),
        ]),
        h("div", { class: "mg-picks" }, shorter("undo", -1), shorter("startOver", 0)),
        said, // below the buttons: it may have two lines
        order,
        dictionaryTable(t, rows),
      ),
      update() {},
    };
  },
};
