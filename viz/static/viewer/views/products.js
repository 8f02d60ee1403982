// A product of matrices in the rule of a step: which row and which column meet in an element.

import { ruleOf } from "../formulas.js";
import { inBrackets } from "./maps.js";
import { cutTerms } from "./sum_text.js";

// A factor of a product, as a matrix whose rows are read: the cell it stands for, and whether it is
// transposed. Null for anything but a symbol.
function factor(token) {
  const turned = token?.t === "sup" && token.exp.length === 1 && token.exp[0].text === "T",
    symbol = turned && token.base.length === 1 ? token.base[0] : token;
  return symbol?.t === "sym" ? { node: symbol.node, column: symbol.col ?? "v", turned } : null;
}

// Both factors of the rule of a step, where that is one product; else null.
function productOf(step) {
  const rule = step ? ruleOf(step) : [];
  if (rule.length !== 3 || rule[1].text !== "@") return null;
  const [left, right] = [factor(rule[0]), factor(rule[2])];
  return left && right ? { left, right } : null;
}

const matrixOf = (state, { node, column }) => {
  const value = state.get(`${node}\u0000${column}`);
  return value?.shape?.length === 2 &&
    value.sample.length === value.shape[0] * value.shape[1] &&
    value.sample.every((v) => v.re === undefined) // real numbers
    ? value
    : null;
};
const at = ({ shape, sample }, i, j) => sample[i * shape[1] + j];

// The sum that an element of a product of matrices is, as text, from a rule alone: of a node that
// does not say what meets in it. Null where not every element is at hand. met: called with each
// factor and the place that takes part.
export function productText(step, state, [i, j], met, most) {
  const product = productOf(step),
    { left: a, right: b } = product ?? {},
    [left, right] = product ? [a, b].map((f) => matrixOf(state, f)) : [];
  if (!left || !right || step.writes[0][2]?.shape?.length !== 2) return null;
  const terms = Array.from({ length: left.shape[a.turned ? 0 : 1] }, (_, k) => {
    const read = [a.turned ? [k, i] : [i, k], b.turned ? [j, k] : [k, j]];
    met({ node: a.node, col: a.column }, read[0]);
    met({ node: b.node, col: b.column }, read[1]);
    const factors = [at(left, ...read[0]), at(right, ...read[1])];
    return factors.map((v) => inBrackets(Number(v))).join(" · ");
  });
  return cutTerms(terms, most).join(" + ");
}
