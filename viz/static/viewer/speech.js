// The sentence of a step. A Trace brings its sentences in English; in another language they are made anew from what the step says as data.

import { nodeName } from "./formulas.js";
import { short } from "./numbers.js";

// names: the nodes' labels, where the Trace is at hand (a step itself holds ids only).
export function sentence(step, t, names = (id) => id) {
  if (!t.foreign) return String(step.say ?? "");
  const value = short(step.writes?.[0]?.[2]), node = names(step.node), part = step.contribs?.[0];
  if (step.phase === "seed") return t(step.writes?.[0]?.[1] === "d" ? "say_seed_d" : "say_seed_g", { node, value });
  if (step.phase === "adjoint" || step.phase === "accumulate") {
    const sent = part ? short(part.product) : value;
    return t(step.phase === "adjoint" ? "say_adjoint" : "say_accumulate", { node, value, part: sent });
  }
  if (["primal", "tangent", "free", "update"].includes(step.phase)) return t(`say_${step.phase}`, { node, value });
  return String(step.say ?? "");
}

export const namesOf = (trace) => {
  const byId = new Map(trace.nodes.map((node) => [node.id, nodeName(node)]));
  return (id) => byId.get(id) ?? id;
};
