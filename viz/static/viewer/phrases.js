// The sentence of a step in another language than English, written from what the step says as data.
// English pages are without this file.

import { answerOf, outcome, questionOf } from "./decisions.js";
import { isSign, plain, ruleOf, runs } from "./formulas.js";
import { short } from "./numbers.js";
import { slopeOf } from "./slopes.js";

export function rebuilt(step, t, names) {
  if (step.fails) return t("failsWith", step.fails);
  const decided = (step.decides ?? []).map((one) => decision(one, t));
  const despite = step.despite && t("say_despite", { what: names(step.despite), kind: "NaN" });
  const said = [phrase(step, t, names), ...decided, ...toldReason(step, t), despite];
  return said.filter(Boolean).join(" ");
}

// Why a result is NaN or infinite, or from where it comes.
function toldReason({ nonfinite: told }, t) {
  if (!told) return [];
  const [what, where] = [told.what, told.where ?? []].map((tokens) => plain(runs(tokens)));
  return [t(`say_${told.why}`, { what, where, kind: short(told.kind) })];
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

// What the step does, from its fields alone.
function phrase(step, t, names) {
  const { phase, writes } = step,
    [, column, written] = writes?.[0] ?? [],
    node = names.byId.get(step.node),
    value = short(written),
    blanks = { node: names(step.node), value };
  if (phase === "seed") {
    const kind = column === "d" ? "d" : value === "1" ? "one" : "g";
    return t(`say_seed_${kind}`, blanks);
  }
  if (phase === "adjoint" || phase === "accumulate")
    return sentAlong(step, t, names) + received(step, blanks, t);
  const rule = reckoned(step, value, t);
  if (phase === "tangent") {
    const told = derivatives(step, t, names);
    return told
      ? told + t("colon") + t("say_tangent", blanks)
      : t("say_tangent", { node: equal(step.node, names), value: rule });
  }
  if (phase === "primal" && !writes.length) return t("say_unkept", blanks);
  if (phase === "primal") {
    const given = ["input", "param", "const"].includes(node.kind) ? `${t(node.kind)} ` : "",
      told = t("say_primal", { node: given + blanks.node, value: rule });
    return (step.keep ? t("say_again") : "") + told + memoryOf(node, t, names);
  }
  if (phase === "free" && node.memory)
    return t("say_unread", { ...blanks, bytes: withCommas(node.memory.bytes ?? 0) });
  if (phase === "free") {
    const told = (step.free ?? [step.node]).map(names).join("、"),
      holds = (step.holds ?? []).map(names).join("、");
    return t("say_free", { names: told, from: holds && t("say_out_of", { holds }) });
  }
  if (phase === "update") return updated(step, blanks, rule, t, names);
  return String(step.say ?? "");
}

// In which memory of a program a result lies.
function memoryOf({ memory = {} }, t, names) {
  if ("of" in memory) return t("say_view", { node: names(memory.of) });
  return "at" in memory ? t("say_at", { at: withCommas(memory.at) }) : "";
}
const withCommas = (count) => count.toLocaleString("en");

const LONGEST_MADE = 40; // characters of an expression beside the name of what it makes
const madeText = (id, names) => plain(runs(names.byId.get(id).expr ?? []));
function equal(id, names) {
  const made = madeText(id, names);
  return names(id) + (made && [...made].length <= LONGEST_MADE ? ` = ${made}` : "");
}

const into = (names, dst) => [...names.edges.values()].filter((edge) => edge.dst === dst);

// The operand that an edge comes from; of several that are alike, which of them.
function operand(id, t, names) {
  const { src, dst, slot } = names.edges.get(id),
    alike = into(names, dst).filter((edge) => edge.src === src),
    n = alike.filter((edge) => edge.slot <= slot).length;
  return alike.length > 1 ? t("say_which", { n, node: names(src) }) : names(src);
}

// The derivatives of the operation that sends or receives, by which operand, where it has several:
// sin b 的导数是 cos b = 0.2837. "" where the step has none.
function derivatives(step, t, names) {
  const parts = step.contribs ?? [],
    to = new Set(parts.map(({ edge }) => names.edges.get(edge).dst)),
    rules = rulesOf(ruleOf(step), parts.length),
    slopes = rules.map((rule, i) => derivativeText(rule, parts[i]));
  if (to.size !== 1 || !slopes.length || slopes.includes(null)) return "";
  const [dst] = to,
    made = madeText(dst, names);
  if (into(names, dst).length === 1) return t("say_derivative", { made, slope: slopes[0] });
  const by = slopes.map((slope, i) =>
    t("say_by", { to: operand(parts[i].edge, t, names), slope }),
  );
  return t("say_derivatives", { made, slopes: by.join(t("comma")) });
}

// The terms of a rule, one for each of so many operands; none where they cannot be told apart.
function rulesOf(rule, count) {
  if (count === 1) return [rule];
  const terms = [[]];
  let depth = 0;
  rule.forEach((token, i) => {
    const text = token.t === "op" ? token.text : "";
    if (!depth && (text === "+" || text === "−") && !isSign(i, rule)) {
      terms.push(text === "+" ? [] : [token]);
      return;
    }
    depth += { "(": 1, ")": -1 }[text] ?? 0;
    terms.at(-1).push(token);
  });
  return terms.length === count ? terms : [];
}

// The derivative by which a rule multiplies an adjoint or a tangent, in symbols and, of one number,
// as a number: cos x2 = 0.2837. null where it is no product of real numbers.
const LONGEST_DERIVATIVE = 24; // characters of a derivative
function derivativeText(rule, { local, upstream, product, pointwise }) {
  if ([upstream, product, local].some(isComplex)) return null;
  if (local === undefined && !pointwise) return null;
  // no rule is known, or one that is 0
  if (!rule.length || rule.some(({ t, num }) => t === "frac" && num[0].text?.startsWith("∂")))
    return isZero(local) ? "0" : null;
  const made = plain(runs(slopeOf(rule)));
  if (local === undefined || local?.shape) return made;
  const found = short(local);
  return made === found || [...made].length > LONGEST_DERIVATIVE ? found : `${made} = ${found}`;
}
const isComplex = (value) =>
  value?.re !== undefined || Boolean(value?.dtype?.startsWith("complex"));
const isZero = (value) => value === 0 || (value?.min === 0 && value.max === 0);

// What is sent along which edge, and why so much.
function sentAlong(step, t, names) {
  const { edges, contribs: [part] = [], writes } = step,
    product = short(part ? part.product : writes[0][2]),
    senders = edges.map((id) => names.edges.get(id).dst),
    to = edges.length ? operand(edges[0], t, names) : names(step.node),
    made = senders.map((id) => equal(id, names)).join("、"),
    { axes, whole } = summed(step, part),
    blanks = { from: senders.map(names).join("、"), to, part: reckoned(step, product, t), made };
  if (edges.length !== 1 || !axes.length) {
    const told = derivatives(step, t, names);
    return told
      ? told + t("colon") + t("say_sends", { ...blanks, part: product })
      : t("say_sends", { ...blanks, from: made });
  }
  blanks.axes = axes.join(", ");
  if (axes.length > 1 || whole.length !== 2) return t("say_spread", blanks);
  const lines = t(axes[0] ? "say_columns" : "say_rows");
  return t("say_spread_lines", { ...blanks, n: whole[axes[0]], lines });
}

// Where what is sent is a sum that undoes a broadcast, the axes of the sum, and the shape of what
// they are axes of.
function summed(step, part) {
  const [whole, own] = [part?.upstream?.shape ?? [], part?.product?.shape ?? []],
    more = whole.length - own.length,
    fits = more >= 0 && own.every((n, i) => n === 1 || n === whole[i + more]),
    [{ t: kind, text } = {}] = ruleOf(step);
  if (!fits || kind !== "fn" || text !== "sum") return { axes: [], whole };
  const axes = whole.map((n, i) => (i < more || (own[i - more] === 1 && n !== 1) ? i : -1));
  return { axes: axes.filter((i) => i >= 0), whole };
}

// What the adjoint is afterwards.
function received({ contribs: [part] = [], formula, phase, partial }, blanks, t) {
  const before = part && "before" in part ? short(part.before) : "",
    signs = formula.filter((token) => token.t === "op").map(({ text }) => text);
  // the engine has another adjoint than the sum
  if (signs.includes("→") && !signs.includes("+="))
    return t("say_other", { ...blanks, was: before && t("say_was", { before }) });
  if (before) return t("say_accumulate", { ...blanks, before });
  if (phase === "accumulate") return t("say_now", blanks);
  return t("say_adjoint", { ...blanks, soFar: partial ? t("say_so_far") : "" });
}

// A parameter after an optimiser's step, or another adjoint than the sum of what was sent.
function updated({ writes, reads, formula, state = [] }, blanks, rule, t, names) {
  const [id, column, value] = writes[0];
  if (column === "v") {
    const states = state.map((tokens) => plain(runs(tokens))),
      told = states.length && typeof value !== "object", // of arrays the numbers would be too many
      more = told ? t("say_with", { states: states.join(t("comma")) }) : "",
      { op: owner } = names.byId.get(id);
    return t("say_update", { ...blanks, owner, old: names(reads[0][0]), value: rule, more });
  }
  if (formula[1]?.text === "+=")
    return t("say_outside", { ...blanks, part: short(formula.at(-1).value) });
  return t("say_replaced", blanks);
}
