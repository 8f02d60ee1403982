// The sum that an entry of a product, a convolution, a pooling or a sum is, written out.

import { ruleOf } from "../formulas.js";
import { short } from "../numbers.js";
import { inLanguage } from "../texts.js";
import { inBrackets } from "./maps.js";
import { divisorAt, meetAt } from "./meeting.js";

const SUM_WORDS = {
  zeros: { en: "{n} of {all} terms are 0", zh: "共 {all} 项，其中 {n} 项为 0" },
  nothing: { en: "no terms", zh: "没有项" },
};
const FEW_TERMS = 4; // of more, those that are 0 are left out

// At most so many terms, with dots in place of those before the last one.
export const cutTerms = (terms, most) =>
  terms.length > most ? [...terms.slice(0, most - 2), "…", terms.at(-1)] : terms;

// What meets in an entry, the factors in the order of the step's formula.
export function sumsAt(step, meeting, arrays, place) {
  const rule = JSON.stringify(ruleOf(step)),
    inRule = ({ number }) => rule.indexOf(`"node":"${arrays.get(number).node.id}"`),
    sums = meetAt(meeting, arrays, place);
  for (const { factors } of sums.flatMap(({ products }) => products))
    factors.sort((a, b) => inRule(a) - inRule(b));
  return sums;
}

const dividedBy = (divisor) => (divisor === 1 ? "" : ` / ${short(divisor)}`);
// The sum of such an entry without its result, and what is said behind that: of how many terms no
// one is seen.
export function sumText({ node: { terms }, column, target }, sums, place, t, most) {
  // the largest value is compared, its tangent or adjoint is taken along
  const largest = terms.combine === "largest",
    compared = largest && column === "v",
    forward = target < 0;
  const parts = sums.flatMap(({ products, plus }) => {
    const taken = largest && !compared ? products.filter((one) => one.chosen) : products;
    const written = taken.map(({ factors, divisor, value }) => [
      factors.map((f) => inBrackets(f.value)).join(" · ") + (forward ? "" : dividedBy(divisor)),
      value,
    ]);
    return [...written, ...plus.map(({ value }) => [inBrackets(value), value])];
  });
  const all = parts.length,
    kept = parts.filter(([, value]) => value !== 0 || compared || all <= FEW_TERMS),
    shown = cutTerms(kept.map(([text]) => text), most),
    added = shown.join(" + "),
    mean = forward && dividedBy(divisorAt(terms, place)),
    total = sums.reduce((sum, one) => sum + one.total, 0),
    body = compared ? `max(${shown.join(", ")})` : mean ? `(${added})${mean}` : added,
    said = all ? kept.length < all && "zeros" : "nothing",
    word = said && inLanguage(SUM_WORDS[said], t);
  return {
    total,
    // one number stands once
    body: !kept.length || body === inBrackets(total) ? "" : body,
    note: word ? ` (${word.replace("{n}", all - kept.length).replace("{all}", all)})` : "",
  };
}
