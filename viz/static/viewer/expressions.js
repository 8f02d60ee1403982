// What people type as an answer: a number or an expression of numbers.

const FUNCTIONS = {
    ...{ ln: Math.log, log: Math.log, lg: Math.log10, exp: Math.exp, abs: Math.abs },
    ...{ sqrt: Math.sqrt, "√": Math.sqrt, sin: Math.sin, cos: Math.cos, tan: Math.tan },
    ...{ asin: Math.asin, acos: Math.acos, atan: Math.atan, log10: Math.log10, log2: Math.log2 },
    ...{ arcsin: Math.asin, arccos: Math.acos, arctan: Math.atan },
    ...{ sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh },
    sigmoid: (x) => 1 / (1 + Math.exp(-x)),
    relu: (x) => Math.max(x, 0),
  },
  NUMBERS = {
    ...{ pi: Math.PI, π: Math.PI, e: Math.E },
    ...{ inf: Infinity, infinity: Infinity, "∞": Infinity, nan: NaN },
  };
const WORD =
  /\s*((?:\d+(?:\.\d*|,\d+)?|[.,]\d+)(?:e[-+]?\d+)?|log(?:10|2)(?=\s*\()|[a-zπ]+|\*\*|\S)/gy;
const SIGNS = {
  ...{ "–": "-", "**": "^", ":": "/", "÷": "/" },
  ...{ "·": "*", "×": "*", "∙": "*", "⋅": "*" },
};
// Wide characters, as Chinese keyboards type them, and raised ones: ２（３＋１）, 10⁻³.
export const ordinary = (text) =>
  text
    .replace(/[⁻⁰¹²³⁴-⁹]+/g, (power) => `^(${power})`)
    .normalize("NFKC")
    .replaceAll("−", "-");

// The value of an expression: 1.5, 0,69, −2, 3/4, 1e-3, ln 2, cos(5), 2·3 − 1, e^2, √2, 2π.
// Undefined for what is none: a decimal comma has a digit behind it, so 12, −2 is a list. A
// function takes the next factor: cos 5 · 2 is (cos 5) · 2.
export function readNumber(text) {
  const words = [...ordinary(text.trim().toLowerCase()).matchAll(WORD)].map(
    ([, word]) => SIGNS[word] ?? word,
  );
  let at = 0;
  const is = (...wanted) => wanted.includes(words[at]) && words[at++];
  const fail = () => {
    throw new SyntaxError(text);
  };
  function sum() {
    let value = product();
    for (let sign; (sign = is("+", "-")); ) value += sign === "+" ? product() : -product();
    return value;
  }
  function product() {
    let value = signed();
    for (;;)
      if (is("*")) value *= signed();
      else if (is("/")) value /= signed();
      // 2π, 2 cos 5, 2 (3 + 4); but no 2 3
      else if (/^[a-zπ√∞(]/.test(words[at] ?? "")) value *= power();
      else return value;
  }
  function signed() {
    return is("-") ? -signed() : is("+") ? signed() : power();
  }
  function power() {
    const base = factor();
    return is("^") ? base ** signed() : base;
  }
  function factor() {
    const word = words[at++] ?? "";
    if (/^[\d.,]/.test(word) && /\d/.test(word)) return Number(word.replace(",", "."));
    if (word === "(") {
      const value = sum();
      return is(")") ? value : fail();
    }
    if (Object.hasOwn(NUMBERS, word)) return NUMBERS[word];
    return Object.hasOwn(FUNCTIONS, word) ? FUNCTIONS[word](signed()) : fail();
  }
  try {
    const value = sum();
    return at < words.length || (Number.isNaN(value) && !words.includes("nan")) ? undefined : value;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
