// The sentence of a step. A Trace brings its sentences in English; in another language they are
// written from what the step says as data.

import { answerOf, outcome, questionOf } from "./decisions.js";
import { rebuilt } from "./phrases.js";

// names: of nodes, with the nodes and the edges; a step itself holds ids only.
export const sentence = (step, t, names) =>
  t.foreign ? rebuilt(step, t, names) : String(step.say ?? "");

// What a step does; in a comparison, of a step that only the second Trace has, whose it is, too.
export const phaseOf = ({ phase, by }, t) => t(phase) + (by ? ` · ${by}` : "");

// What a card says of the condition that its value is: the question with its answer, and what
// follows.
export function decidedLines({ decides: [one] = [] }, t) {
  if (!one) return [];
  const { asks = "…", loop, part } = one,
    cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`),
    question = cut(asks, LONGEST_QUESTION),
    computes = one.computes?.map((text) => cut(text, LONGEST_QUESTION / 2)),
    answer = answerOf(one, t);
  if (part) return [t("decides", { answer: question, outcome: answer })];
  const asked = t(questionOf(loop), { asks: question, answer });
  return [asked, outcome({ ...one, computes }, t)].filter(Boolean);
}
const LONGEST_QUESTION = 30; // characters of a question in a card

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
