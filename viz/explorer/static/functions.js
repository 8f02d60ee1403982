// What the words of scalar expressions (minigrad/scalar.py) are for one number of float64, as NumPy
// computes them. No derivative is in this file: those are in rules.js.

const SQUARE_ROOT = Math.sqrt;

// Powers with an exponent that NumPy computes without its general function, and those that C and
// JavaScript define differently.
function power(x, n) {
  if (n === 2) return x * x;
  if (n === 3) return x * x * x;
  if (n === 1) return x;
  if (n === -1) return 1 / x;
  if (n === 0.5) return SQUARE_ROOT(x);
  if (n === -0.5) return 1 / SQUARE_ROOT(x);
  if (x === 1 || (x === -1 && Math.abs(n) === Infinity)) return 1;
  return x ** n;
}

// log(exp(a) + exp(b)) without overflow.
function logOfSum(a, b) {
  if (a === b) return a + Math.LN2; // infinities of one sign, too
  const d = a - b;
  if (d > 0) return a + Math.log1p(Math.exp(-d));
  return d <= 0 ? b + Math.log1p(Math.exp(d)) : d; // NaN
}

// The error function: Maclaurin's series up to 1, and the continued fraction of its complement
// beyond. Source: Abramowitz & Stegun, 7.1.5 and 7.1.14.
function errorFunction(x) {
  const size = Math.abs(x);
  if (!(size < 6)) return Number.isNaN(x) ? x : Math.sign(x);
  if (size < 1) {
    let power = 2 / SQUARE_ROOT(Math.PI),
      sum = 0.12837916709551256; // 2/√π − 1: x itself is added last, so that it loses no digits
    for (let n = 1; n < 20; n++) {
      power *= (-x * x) / n;
      sum += power / (2 * n + 1);
    }
    return x + x * sum;
  }
  let tail = 0;
  for (let n = 200; n > 0; n--) tail = n / 2 / (size + tail);
  const head = Math.fround(x), // its square is exact, so that e^(-x²) loses no digits
    bell = Math.exp(-head * head) * Math.exp((head - x) * (head + x));
  return Math.sign(x) * (1 - bell / SQUARE_ROOT(Math.PI) / (size + tail));
}

// Of two numbers of which one is NaN, the larger and the smaller one is NaN.
export const F = {
  ...Object.fromEntries(
    Object.getOwnPropertyNames(Math)
      .filter((name) => typeof Math[name] === "function")
      .map((name) => [name, Math[name]]),
  ),
  power,
  exp2: (x) => 2 ** x,
  logaddexp: logOfSum,
  erf: errorFunction,
  maximum: (a, b) => (a > b || Number.isNaN(a) ? a : b),
  minimum: (a, b) => (a < b || Number.isNaN(a) ? a : b),
};
