// What a step says: its formula as tokens, and a sentence, as in minigrad/watch/sentences.py.

import { derivativeToken, inParentheses, numberToken, opToken, symbolToken } from "./notation.js";
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

// A tangent: the sum over the operands of local derivative times tangent. terms: {source, local,
// rule, tangent} of each.
export function pushedStep(name, terms, value) {
  const known = terms.every(({ rule }) => rule),
    rules = [];
  const symbols = joined(
    terms.map(({ source, which }) => [
      derivativeToken(name, source, which),
      TIMES,
      symbolToken(source, "dot", "d"),
    ]),
  );
  const numbers = joined(
    terms.map(({ local, tangent }) => {
      const factors = [numberToken(local), numberToken(tangent, "d")].map(inParentheses);
      const [left, right] = known ? factors.reverse() : factors; // ẋ · cos x, but ∂y/∂x · ẋ
      return [...left, TIMES, ...right];
    }),
  );
  if (known)
    terms.forEach(({ rule }, i) => {
      const signed = rule[0]?.t === "op" && rule[0].text === "−";
      rules.push(...(i && !signed ? [PLUS] : []), ...rule);
    });
  const formula = [symbolToken(name, "dot", "d"), EQUALS, ...symbols];
  if (known) formula.push(EQUALS, ...rules);
  formula.push(EQUALS, ...numbers, EQUALS, numberToken(value, "d"));
  const shown = numberText(value),
    made = textOf(rules);
  const what = made && made !== shown ? `${made} = ${shown}` : shown;
  return { formula, say: `The tangent of ${name} is ${what}.` };
}

// A contribution carried back to an operand, and the sum so far.
export function pulledStep({ name, adjoint, target, local, part, before, after, rule, which }) {
  const formula = [symbolToken(target, "bar", "g"), opToken(before === undefined ? "=" : "+=")],
    [sent, sum] = [part, after].map(numberText),
    made = rule ? textOf(rule) : sent;
  formula.push(symbolToken(name, "bar", "g"), TIMES, derivativeToken(name, target, which));
  if (made !== sent) formula.push(EQUALS, ...rule);
  formula.push(EQUALS, ...inParentheses(numberToken(adjoint, "g")), TIMES);
  formula.push(...inParentheses(numberToken(local)), EQUALS, numberToken(part, "g"));
  const what = made === sent ? sent : `${made} = ${sent}`,
    to = which ? `the ${which} ${target}` : target,
    said = `${name} sends ${what} back to ${to}; `,
    its = `the adjoint of ${target} is`;
  if (before === undefined) return { formula, say: `${said}${its} ${sum}.` };
  formula.push(opToken("→"), numberToken(before, "g"), PLUS);
  formula.push(...inParentheses(numberToken(part, "g")), EQUALS, numberToken(after, "g"));
  return { formula, say: `${said}added to ${numberText(before)}, ${its} now ${sum}.` };
}
