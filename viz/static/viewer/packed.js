// A document on its way to the viewer: JSON, compressed by gzip. So a widget gets it in the bytes
// of a message, and a large page holds it as base64. A Trace is packed in it (packing.py).

import { inflated } from "./inflated.js";
import { NESTED } from "./nested.js";

export async function unpacked(bytes) {
  return wholeTrace(await inflated(bytes).json());
}

export const wholeTrace = (found) => (found.formulas ? unpackedTrace(found) : found);

export function fromBase64(text) {
  const letters = atob(text),
    bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

const listedById = (all, listed, made) =>
  Object.fromEntries(all.map(({ id }, i) => [id, made(listed[i])]));

// The edges, and the places of nodes and edges.
function unpackEdges({ nodes, edges, layout }) {
  let end = 0;
  edges.forEach((edge, i) => {
    end += edge.dst;
    edge.id ??= `e${i + 1}`;
    edge.src = nodes[end - edge.src].id;
    edge.dst = nodes[end].id;
  });
  if (!Array.isArray(layout?.nodes)) return;
  layout.nodes = listedById(nodes, layout.nodes, ([x, y, w, h]) => ({ x, y, w, h }));
  layout.edges = listedById(edges, layout.edges, (points) => ({ points }));
}

// Of thousands of steps few are shown: a step's formula is filled in when it is read. tokens: how
// many it has.
function unpackedTrace({ formulas, filled: packed, ...trace }) {
  const { nodes, edges, steps } = trace,
    numberOf = new Map(nodes.map((node, i) => [node.id, i])),
    packedOf = new Map();
  function formula([template, holes, ...more], own, listed = []) {
    const numbers = [...listed, ...more];
    let at = 0;
    const filled = (token) => {
      const found = { ...token };
      if (token.t === "num" && token.value === undefined) found.value = numbers[holes[at++]];
      else if (token.t === "sym" && token.base === undefined) {
        const { id, label } = nodes[own - holes[at++]];
        Object.assign(found, label, { node: id });
      } else
        for (const key of NESTED[token.t] ?? []) found[key] = token[key].map(filled);
      return found;
    };
    return formulas[template].map(filled);
  }
  const lazy = {
    formula: {
      enumerable: true,
      get() {
        const { node, writes, contribs = [] } = this,
          listed = [...writes.map((cell) => cell.at(-1)), ...contribs.flatMap(Object.values)];
        return formula(packedOf.get(this), numberOf.get(node), listed);
      },
    },
    tokens: {
      get() {
        return formulas[packedOf.get(this)[0]].length;
      },
    },
  };
  nodes.forEach((node, i) => {
    if (node.expr) node.expr = formula(node.expr, i);
  });
  let own = 0,
    last = 0;
  unpackEdges(trace);
  steps.forEach((step, i) => {
    own += step.node;
    step.node = nodes[own].id;
    for (const cell of [...step.reads, ...step.writes]) cell[0] = nodes[own - cell[0]].id;
    for (const part of step.contribs ?? []) part.edge = edges[part.edge + last]?.id ?? part.edge;
    const places = step.edges.map((place) => place + last);
    step.edges = places.map((place) => edges[place].id);
    last = places.at(-1) ?? last;
    if (!packed[i]) return;
    packedOf.set(step, packed[i]);
    Object.defineProperties(step, lazy);
  });
  return trace;
}
