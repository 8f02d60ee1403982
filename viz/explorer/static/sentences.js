// What a step says: its formula as tokens, and a sentence, as in minigrad/watch/sentences.py.

import {
  derivativeToken,
  inParentheses,
  numberToken,
  opToken,
  symbolToken,
  withNumbers,
} from "./notation.js";
import { slopeOf } from "../../static/viewer/slopes.js";
import { numberText, textOf } from "./text.js";

const EQUALS = opToken("="),
  TIMES = opToken("·"),
  PLUS = opToken("+");

export const givenStep = (name, role, value) => ({
  formula: [symbolToken(name), EQUALS, numberToken(value, "v")],
  say: `The ${role} ${name} is ${numberText(value)}.`,
});

export function seedStep(name, accent, value) {
  const [column, what] =
    accent === "dot"
      ? ["d", `tangent of ${name}, its rate of change`]
      : ["g", `adjoint of ${name}, the result's derivative ∂${name}/∂${name}`];
  return {
    formula: [symbolToken(name, accent, column), EQUALS, numberToken(value, column)],
    say: `The ${what}, starts at ${numberText(value)} (the seed).`,
  };
}

export const computedStep = (name, expr, arithmetic, value) => ({
  formula: [
    symbolToken(name),
    EQUALS,
    ...expr,
    EQUALS,
    ...arithmetic,
    EQUALS,
    numberToken(value, "v"),
  ],
  say: `${name} = ${textOf(expr)} = ${numberText(value)}.`,
});

const joined = (lists) => lists.flatMap((list, i) => (i ? [PLUS, ...list] : list));

// The rule of arithmetic in numbers, through: the adjoint or the tangent in it. value: that of a
// node.
function inNumbers(rule, through, value) {
  const cell = ({ accent, node }) => (accent ? through : value(node));
  return rule && (rule.length > 1 || rule[0].accent) ? withNumbers(rule, cell) : null;
}

// Whether a rule in numbers is the result already, as that of v̄ alone is.
const says = (numbers, result) => textOf(numbers).replace(/^\(|\)$/g, "") === result;

// A derivative in symbols and as a number: cos x2 = 0.2837 with respect to x2. A long formula is
// left to the step's own.
const LONGEST_SLOPE = 24;
function slopeText(rule, local, by) {
  const made = textOf(slopeOf(rule)),
    found = numberText(local);
  const alone = made === found || [...made].length > LONGEST_SLOPE;
  return (alone ? found : `${made} = ${found}`) + (by && ` with respect to ${by}`);
}
const receiver = (name, which) => (which ? `the ${which} ${name}` : name);

// A tangent: the sum over the operands of local derivative times tangent. terms: {source, local,
// rule, tangent} of each; making: {expr, value, single}, how the result is made.
export function pushedStep(name, terms, value, making) {
  const known = terms.every(({ rule }) => rule),
    rules = [],
    numbers = [];
  const symbols = joined(
    // of two terms the sentence says how the result is made
    terms.map(({ source, which }) => [
      derivativeToken(name, source, which, terms.length === 1 ? making.expr : []),
      TIMES,
      symbolToken(source, "dot", "d"),
    ]),
  );
  terms.forEach(({ local, tangent, rule }, i) => {
    const signed = rule?.[0]?.t === "op" && rule[0].text === "−",
      plus = i ? [PLUS] : [],
      found = inNumbers(rule, tangent, making.value);
    rules.push(...(signed ? [] : plus), ...(rule ?? []));
    if (found) numbers.push(...(signed ? [] : plus), ...found);
    else {
      const factors = [numberToken(local), numberToken(tangent, "d")].map(inParentheses);
      const [left, right] = known ? factors.reverse() : factors; // ẋ · cos x, but ∂y/∂x · ẋ
      numbers.push(...plus, ...left, TIMES, ...right);
    }
  });
  const formula = [symbolToken(name, "dot", "d"), EQUALS, ...symbols];
  if (known) formula.push(EQUALS, ...rules);
  const shown = numberText(value);
  if (!says(numbers, shown)) formula.push(EQUALS, ...numbers);
  formula.push(EQUALS, numberToken(value, "d"));
  if (!known) return { formula, say: `The tangent of ${name} is ${shown}.` };
  const slopes = terms.map(({ rule, local, source, which }) =>
    slopeText(rule, local, making.single ? "" : receiver(source, which)),
  );
  const has = slopes.length === 1 ? "the derivative" : "the derivatives",
    told = `${textOf(making.expr)} has ${has} ${slopes.join(" and ")}`;
  return { formula, say: `${told}: the tangent of ${name} is ${shown}.` };
}

// A contribution carried back to an operand, and the sum so far.
export function pulledStep({ name, adjoint, target, part, before, after, ...more }) {
  const { local, rule, which, making } = more;
  const formula = [symbolToken(target, "bar", "g"), opToken(before === undefined ? "=" : "+=")],
    [sent, sum] = [part, after].map(numberText);
  formula.push(symbolToken(name, "bar", "g"), TIMES);
  formula.push(derivativeToken(name, target, which, making.expr));
  if (rule && textOf(rule) !== sent) formula.push(EQUALS, ...rule);
  const numbers = inNumbers(rule, adjoint, making.value) ?? [
    ...[...inParentheses(numberToken(adjoint, "g")), TIMES],
    ...inParentheses(numberToken(local)),
  ];
  if (!says(numbers, sent)) formula.push(EQUALS, ...numbers);
  formula.push(EQUALS, numberToken(part, "g"));
  const to = receiver(target, which),
    expr = textOf(making.expr),
    does = rule
      ? `${expr} has the derivative ${slopeText(rule, local, making.single ? "" : to)}: ${name}`
      : `${name} = ${expr}`,
    said = `${does} sends ${sent} back to ${to}`;
  if (before === undefined) return { formula, say: `${said} as ${target}'s adjoint.` };
  formula.push(opToken("→"), numberToken(before, "g"), PLUS);
  formula.push(...inParentheses(numberToken(part, "g")), EQUALS, numberToken(after, "g"));
  const now = `${target}'s adjoint is now ${sum}.`;
  return { formula, say: `${said}; added to ${numberText(before)}, ${now}` };
}
