// Three ways to a derivative, side by side: numerical, symbolic, automatic.

import { h, tableHead } from "../../static/viewer/dom.js";
import { short } from "../../static/viewer/numbers.js";
import { evaluateAt, runRecorded } from "./engine.js";
import { derivativeOf, programOf } from "./symbolic.js";

const LONGEST_SHOWN = 160; // letters of a symbolic derivative

function numerical(compiled, values, name, step) {
  const at = (x) => evaluateAt(compiled, { ...values, [name]: x });
  return (at(values[name] + step) - at(values[name] - step)) / (2 * step);
}

const twelveDigits = (value) => String(Number(value.toPrecision(12))).replace(/-/g, "−");
const comparedRow = (name, how, value, error) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, name),
    h("td", null, how),
    ...[value, error].map(tableCell),
  );
const tableCell = (text) => h("td", { class: "mgx-cell" }, text);

// A panel that compares them for each input, and makes the derivative the function of the page.
// Long: a closure, whose functions share these elements and the state.
export function waysPanel({ choose, state }) {
  const body = h("tbody"),
    choice = h("select", {
      ...{ class: "mgx-select", "aria-label": "input of the comparison", onchange: () => fill() },
    });
  let found = null,
    program = null; // that computes the derivative
  const again = h("button", {
    class: "mgx-button",
    onclick: () => choose({ f: program, values: state().values, mode: state().mode }),
  });
  const heads = ["way", "how", "∂f/∂x", "difference from automatic"].map((text) =>
    h("th", { scope: "col" }, text),
  );
  const element = h(
    "section",
    { class: "mg-root mgx-panel", "aria-label": "three ways to the derivative" },
    h(
      "div",
      { class: "mgx-tools" },
      ...[h("h2", null, "Three ways to the derivative along"), choice, again],
    ),
    h(
      "div",
      { class: "mgx-scroll", tabindex: 0, role: "region", "aria-label": "comparison" },
      h("table", { class: "mgx-ways" }, tableHead(heads), body),
    ),
  );
  function fill() {
    const { compiled, values } = found,
      name = choice.value;
    const { out, inputs, trace } = runRecorded(compiled, values, { mode: "reverse" });
    const writes = trace.steps.flatMap((step) => step.writes),
      slope = writes.findLast(([id, column]) => id === name && column === "g")?.[2] ?? 0;
    const at = (sign) =>
      `f(${compiled.names.map((one) => (one === name ? `${one} ${sign} h` : one)).join(", ")})`;
    const rows = [1e-2, 1e-6, 1e-12].map((size) => {
      const value = numerical(compiled, values, name, size),
        how = `(${at("+")} − ${at("−")}) / (2h) with h = ${short(size)}`;
      return comparedRow("numerical", how, twelveDigits(value), short(Math.abs(value - slope)));
    });
    const input = inputs.get(name);
    const formula = derivativeOf(out, input, values, LONGEST_SHOWN),
      { text, operations, number } = formula;
    program = programOf(formula.found, name, compiled.names);
    again.textContent = `f := ∂f/∂${name}`;
    again.title = "Make this derivative the function, to differentiate it again";
    again.disabled = program === null;
    const counted = `${short(operations)} operation${operations === 1 ? "" : "s"}`;
    const shown = text ? `${text} (${counted})` : `a formula of ${counted}`;
    rows.push(
      comparedRow("symbolic", shown, twelveDigits(number), short(Math.abs(number - slope))),
    );
    const how = `reverse mode, ${trace.steps.length} steps`;
    rows.push(comparedRow("automatic", how, twelveDigits(slope), "–"));
    heads[2].textContent = `∂f/∂${name}`;
    body.replaceChildren(...rows);
  }
  return {
    element,
    show(given) {
      found = given;
      const { names } = given.compiled,
        before = choice.value;
      choice.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
      choice.value = names.includes(before) ? before : names[0];
      try {
        fill();
        element.hidden = false;
      } catch {
        element.hidden = true; // there is no derivative here, which the page says elsewhere
      }
    },
  };
}
