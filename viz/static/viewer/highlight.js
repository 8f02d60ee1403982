// Linked highlighting: what the pointer or the focus is on is lit in every view.

import { nodeAt } from "./dom.js";

// lit(id): a node is pointed at, or none (null). Returns which one is. A picture that moves below a
// pointer at rest lights nothing, and a key ends what the pointer lit.
export function linkHighlights(root, graph, controls, lit) {
  let hovered = null;
  function hover(id) {
    if (hovered === id) return;
    hovered = id;
    for (const e of root.querySelectorAll(".mg-hover")) e.classList.remove("mg-hover");
    for (const e of id === null ? [] : root.querySelectorAll("[data-node]"))
      e.classList.toggle("mg-hover", e.dataset.node === id);
    lit();
  }
  root.addEventListener("pointermove", (e) => hover(nodeAt(e.target)));
  root.addEventListener("keydown", () => hover(null));
  root.addEventListener("pointerleave", () => hover(null));
  root.addEventListener("focusin", (e) => {
    hover(nodeAt(e.target));
    if (graph?.svg.contains(e.target)) graph.rove(nodeAt(e.target));
  });
  root.addEventListener("focusout", (e) => {
    if (root.contains(e.relatedTarget)) return;
    hover(null);
    controls.menu.open = false;
  });
  return () => hovered;
}
