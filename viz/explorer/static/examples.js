// Functions to begin with: those of the five documents that this course follows, and small
// programs.

import { h } from "../../static/viewer/dom.js";

const NEWTON = `x = 1
for i in range(4):
    x = x - (x*x - a)/(2*x)
x`;
const TAYLOR = `s = 0
k = 1
for i in range(4):
    s = s + (-1)**i * x**(2*i + 1)/k
    k = k*(2*i + 2)*(2*i + 3)
s`;
const BRANCH = `if x > 0:
    y = x*x
else:
    y = -x
3*y`;
const NETWORK = `h1 = tanh(w1*x)
h2 = tanh(w2*h1)
h3 = tanh(w3*h2)
y = w4*h3
(y - t)**2`;

const TWO_USERS = `x2 = exp(x1)
x3 = x2 + 1
x2*x3`;

// Those of a document begin with its name.
export const EXAMPLES = [
  {
    name: "MindSpore, and Baydin's survey: ln x1 + x1 x2 − sin x2",
    f: "log(x1) + x1*x2 - sin(x2)",
    values: { x1: "2", x2: "5" },
  },
  { name: "MindSpore: sine, then cosine", f: "cos(sin(x))", values: { x: "1" } },
  {
    name: "AutoDiff by L1aoXingyu: ln x1 + x1 x2 + sin x2",
    f: "log(x1) + x1*x2 + sin(x2)",
    values: { x1: "2", x2: "5" },
  },
  {
    name: "AutoDiff by L1aoXingyu: a value with two users",
    f: TWO_USERS,
    values: { x1: "1" },
    mode: "reverse",
  },
  {
    name: "Autogradlib: (x − exp x)²",
    f: "(x - exp(x))**2",
    values: { x: "0.5" },
    mode: "reverse",
  },
  { name: "PyTorch: 2 exp x + 3 y", f: "2*exp(x) + 3*y", values: { x: "0.5", y: "1" } },
  { name: "PyTorch: 2 x² + 3 y²", f: "2*x**2 + 3*y**2", values: { x: "0.5", y: "1" } },
  {
    name: "SINGA: one unit of its perceptron",
    f: "relu(w1*x1 + w2*x2 + b)",
    values: { w1: "0.5", x1: "1", w2: "-0.1", x2: "2", b: "0.1" },
  },
  {
    name: "A perceptron",
    f: "sigmoid(w1*x1 + w2*x2 + b)",
    values: { w1: "0.5", x1: "1", w2: "-1", x2: "2", b: "0.1" },
  },
  { name: "A squared error", f: "(w*x + b - y)**2", values: { w: "2", x: "3", b: "1", y: "5" } },
  { name: "A function of one input", f: "exp(-x**2/2)*cos(3*x)", values: { x: "0.5" } },
  { name: "A value used often", f: "(x*y + sin(x))*(x*y)", values: { x: "1", y: "2" } },
  { name: "A kink", f: "abs(x) + relu(x - 1) + maximum(x, y)", values: { x: "0", y: "0" } },
  {
    name: "A four-layer network",
    f: NETWORK,
    values: { w1: "0.8", x: "1", w2: "-1.2", w3: "0.5", w4: "1.5", t: "1" },
  },
  { name: "Newton's iteration", f: NEWTON, values: { a: "2" } },
  { name: "The sine's series", f: TAYLOR, values: { x: "1" } },
  { name: "A branch", f: BRANCH, values: { x: "2" } },
];

// A menu that hands the chosen example over.
export function exampleMenu(choose) {
  const menu = h(
    "select",
    {
      ...{ class: "mgx-select", "aria-label": "examples" },
      onchange: () => {
        const example = EXAMPLES[Number(menu.value)];
        menu.selectedIndex = 0;
        if (example) choose(example);
      },
    },
    h("option", { value: "" }, "Examples …"),
    EXAMPLES.map(({ name }, i) => h("option", { value: i }, name)),
  );
  return menu;
}
