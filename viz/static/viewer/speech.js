// The sentence of a step. A Trace brings its sentences in English; in another language they are
// written from what the step says as data.

import { isPartial, plain, ruleOf, runs } from "./formulas.js";
import { short } from "./numbers.js";

// names: of nodes and of what edges lead to; a step itself holds ids only.
export function sentence(step, t, names) {
  if (!t.foreign) return String(step.say ?? "");
  if (step.fails) return t("failsWith", step.fails);
  const decided = (step.decides ?? []).map((one) => decision(one, t));
  return [phrase(step, t, names), ...decided, ...toldReason(step, t)].join(" ");
}

// Why a result is NaN or infinite, or from where it comes.
function toldReason({ nonfinite: told }, t) {
  if (!told) return [];
  const [what, where] = [told.what, told.where ?? []].map((tokens) => plain(runs(tokens)));
  return [t(`say_${told.why}`, { what, where, kind: short(told.kind) })];
}

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

const questionOf = (loop) => (loop ? "asksWhile" : "asksIf");
const answerOf = ({ answer }, t) => t(answer ? "yes" : "no");

// What follows from a condition: the lines that run and those that do not. Where both stand in one
// line, nothing.
function outcome({ answer, loop, runs, skips, computes }, t) {
  if (computes) return t("computesOne", { one: computes[0], other: computes[1] });
  if (loop) return t(answer ? "decidesAgain" : "decidesEnds");
  if (runs && skips && runs[0] === skips[0] && runs[2] === skips[2]) return "";
  const say = ([a, , b], one, many) => t(a === b ? one : many, { a, b }),
    ran = runs && say(runs, "lineRuns", "linesRun"),
    left = skips && say(skips, "lineSkipped", "linesSkipped");
  return ran && left ? t("andSkipped", { runs: ran, skips: left }) : (ran ?? left ?? "");
}

function decision(decided, t) {
  const { read, asks, loop } = decided,
    said = answerOf(decided, t),
    answer = read ? t(questionOf(loop), { asks, answer: said }) : said,
    follows = outcome(decided, t);
  return follows ? t("decides", { answer, outcome: follows }) : answer;
}

// A step's rule and its result, v̄4 · cos x2 = −0.2837; the result alone where it has no rule.
function reckoned(step, result, t) {
  // the adjoint of a longer name in words: a text has bars for single letters only
  const inWords = (r) => (r.over ? { ...r, text: `${r.text}(${t("g")})` } : r),
    rule = plain(runs(ruleOf(step)).map(inWords));
  return rule && rule !== result ? `${rule} = ${result}` : result;
}

function phrase(step, t, names) {
  const value = short(step.writes?.[0]?.[2]),
    node = names(step.node),
    part = step.contribs?.[0];
  if (step.phase === "seed") {
    const kind = step.writes?.[0]?.[1] === "d" ? "d" : value === "1" ? "one" : "g";
    return t(`say_seed_${kind}`, { node, value });
  }
  if (step.phase === "adjoint" || step.phase === "accumulate") {
    const sent = part ? short(part.product) : value,
      from = step.edges.map(names.made).join("、"),
      soFar = isPartial(step) ? t("soFar") : "",
      blanks = { node, from, soFar, value, part: reckoned(step, sent, t) };
    return (
      (step.say?.includes("was broadcast") ? t("say_broadcast", blanks) : "") +
      t(`say_${step.phase}`, blanks)
    );
  }
  if (["primal", "tangent", "free", "update"].includes(step.phase))
    return t(`say_${step.phase}`, { node, value: reckoned(step, value, t) });
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
