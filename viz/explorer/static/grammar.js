// What can be typed into the page, for readers who ask: the words of the grammar.

import { h } from "../../static/viewer/dom.js";
import { GRAMMAR } from "./rules.js";

const SAMPLE_PROGRAM = `y = x*x
for i in range(3):
    y = sin(y)*i
if y > 0: y = 2*y
y + 1`;

const WHOLE_FUNCTIONS = ["f(x, y) = x*y", "lambda x: x*x", "return x*x"];

const listedWords = (names) => names.map((name, i) => [i ? ", " : "", h("code", null, name)]);

export function grammarBox() {
  const { functions, choosing, constants } = GRAMMAR;
  const names = Object.keys(functions).filter((name) => !choosing.includes(name));
  return h(
    "details",
    { class: "mgx-grammar" },
    h("summary", null, "What can be typed"),
    h(
      "div",
      { class: "mgx-words" },
      h(
        "p",
        null,
        ...["A formula: numbers, names, ", h("code", null, "+ - * / **"), ", parentheses, the "],
        ...["functions ", listedWords(names), "; ", listedWords(choosing.map(choiceSample))],
        ...[", and the constants ", listedWords(Object.keys(constants)), "."],
      ),
      h("p", null, "Or a program of such lines (Shift+Enter begins one); the last is the result:"),
      h("pre", null, SAMPLE_PROGRAM),
      h(
        "p",
        null,
        ...["A function is read, too: ", listedWords(WHOLE_FUNCTIONS), ", "],
        ...["or a whole ", h("code", null, "def"), ". The fields with a dot, ẋ, are the tangents "],
        "of the inputs: the direction in which forward mode differentiates.",
      ),
    ),
  );
}

const choiceSample = (name) => `${name}(x > 0, x, -x)`;
