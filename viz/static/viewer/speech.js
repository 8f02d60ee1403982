// The sentence of a step. A Trace brings its sentences in English; in another language they are
// written from what the step says as data.

import { nodeName, plain, ruleOf, runs } from "./formulas.js";
import { short } from "./numbers.js";

// names: the nodes' labels, where the Trace is at hand (a step itself holds ids only).
export function sentence(step, t, names = (id) => id) {
  if (!t.foreign) return String(step.say ?? "");
  if (step.fails) return t("failsWith", step.fails);
  return [phrase(step, t, names), ...(step.decides ?? []).map((one) => decision(one, t))].join(" ");
}

// What a condition decided, in words.
function decision({ answer, loop, runs, skips }, t) {
  const place = (span) => {
    if (!span) return null;
    const [a, , b] = span;
    return a === b ? t("lineShort", { i: a }) : t("linesShort", { a, b });
  };
  const kind = runs && skips ? "Lines" : runs ? "Runs" : skips ? "Skips" : "Only",
    name = loop ? (answer ? "Again" : "Ends") : kind;
  const told = { answer: t(answer ? "yes" : "no"), runs: place(runs), skips: place(skips) };
  return t(`decides${name}`, told);
}

// A step's rule and its result, v̄4 · cos x2 = −0.2837; the result alone where it has no rule.
function reckoned(step, result) {
  const rule = plain(runs(ruleOf(step)));
  return rule && rule !== result ? `${rule} = ${result}` : result;
}

function phrase(step, t, names) {
  const value = short(step.writes?.[0]?.[2]),
    node = names(step.node),
    part = step.contribs?.[0];
  if (step.phase === "seed")
    return t(step.writes?.[0]?.[1] === "d" ? "say_seed_d" : "say_seed_g", { node, value });
  if (step.phase === "adjoint" || step.phase === "accumulate") {
    const sent = part ? short(part.product) : value;
    return t(step.phase === "adjoint" ? "say_adjoint" : "say_accumulate", {
      node,
      value,
      part: reckoned(step, sent),
    });
  }
  if (["primal", "tangent", "free", "update"].includes(step.phase))
    return t(`say_${step.phase}`, { node, value: reckoned(step, value) });
  return String(step.say ?? "");
}

// Which pass a step belongs to, where a Trace holds several: "reverse mode, pass 2 of 3, with the
// seed 1 at v2".
export function passText(trace, t, index) {
  const passes = trace.passes ?? [],
    mode = passes[index]?.mode;
  if (!mode) return "";
  const same = passes
      .map((pass, i) => [pass, i])
      .filter(([pass]) => pass.mode === mode)
      .map(([, i]) => i),
    k = same.indexOf(index);
  const seeds = trace.jacobian?.[mode === "forward" ? "columns" : "rows"],
    at = seeds?.length === same.length ? seeds[k] : null;
  return t(at ? "passSeeded" : "passPlain", { mode: t(mode), k: k + 1, n: same.length, at });
}

export const namesOf = (trace) => {
  const byId = new Map(trace.nodes.map((node) => [node.id, nodeName(node)]));
  return (id) => byId.get(id) ?? id;
};
