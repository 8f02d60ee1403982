// The sources of two Traces that are compared, in one box.

import { h } from "./dom.js";

// own: the first Trace's; draw(trace): that of another one. The second's is lit where it makes the
// node, or what stands in its place.
export function withOther(trace, own, draw) {
  const { source, spans, names } = trace.beside ?? {};
  if (!source) return own;
  const nodes = trace.nodes.map(({ id }) => ({ id, span: spans[id] })),
    steps = trace.steps.map(({ node, edges }) => ({ node, edges })),
    other = draw({ source, nodes, steps, edges: trace.edges }),
    both = [own, other],
    box = h("div", { class: "mg-source mg-both" }, own.box, other.box);
  both.forEach((one, i) => {
    one.box.classList.remove("mg-source");
    one.box.querySelector("figcaption > span").append(` · ${names[i]}`);
    one.box.querySelector(".mg-scroll").ariaLabel += ` · ${names[i]}`;
  });
  box.style.cssText = own.box.style.cssText;
  return {
    box,
    width: Math.max(own.width, other.width),
    follow: () => both.forEach((one) => one.follow()),
    light(id, step, k) {
      own.light(id, step, k);
      other.light(id, step && { ...step, line: null }, k);
    },
  };
}
