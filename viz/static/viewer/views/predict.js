// Predict mode: the next value stays hidden until the reader has answered. Answers are compared
// with a tolerance and logged:
// {step, node, column, answer, correct, asked?, pass?}; step counts the Trace's steps from 0, pass
// its passes, where it has several. Of an
// array's value the shape is asked (asked: "shape"), of an array's tangent or adjoint one element
// (asked: its index), where everything that it is computed from can be seen, else its shape. A step
// that only states what is given (an input, a constant, a seed) asks nothing.

import { h } from "../dom.js";
import { columnName, math, nodeName } from "../formulas.js";
import { shapeText } from "../arrays.js";
import { passText } from "../speech.js";
import { short } from "../numbers.js";

// relative: three digits are enough, and a rounded intermediate result may be used
const TOLERANCE = 0.005;

const WRITTEN_OUT = 16; // elements of an array up to which a Trace holds them all

// A number as people type it: 1,5 and 1.5, −2 and -2, 3/4, 1e-3.
export function readNumber(text) {
  const plain = text.trim().replace(/[−–]/g, "-").replace(",", ".").replace(/\s+/g, "");
  const part = /^([-+]?[\d.]+(?:e[-+]?\d+)?)(?:\/([-+]?[\d.]+))?$/i.exec(plain);
  if (/^[-+]?(inf|infinity|∞)$/i.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  if (/^nan$/i.test(plain)) return NaN;
  const value = part ? Number(part[1]) / Number(part[2] ?? 1) : undefined;
  return Number.isNaN(value) ? undefined : value;
}

// A shape as people type it: (3, 2), 3x2, [3,2], 3; () for a single number. Undefined for anything
// else.
export function readShape(text) {
  const plain = text
    .trim()
    .replace(/^[([]|[)\]]$/g, "")
    .replace(/[x×*,;]+\s*$/, "")
    .trim();
  if (!plain) return text.trim() ? [] : undefined;
  const sizes = plain.split(/\s*[x×*,;]\s*|\s+/);
  return sizes.every((size) => /^\d+$/.test(size)) ? sizes.map(Number) : undefined;
}

// What a step asks: {kind: "number" | "shape" | "element", value, index?}, or null. sizeOf(id): how
// many elements a node has.
export function asked(node, step, k, sizeOf = () => 1) {
  const value = step.writes?.[0]?.[2];
  if (
    step.phase === "seed" ||
    step.phase === "update" ||
    value === undefined ||
    typeof value === "boolean"
  )
    return null;
  if (
    step.phase === "primal" &&
    (["input", "const", "param", "seed"].includes(node.kind) || step.keep)
  )
    return null;
  const known = (step.reads ?? []).every(([id]) => sizeOf(id) <= WRITTEN_OUT);
  if (typeof value !== "object")
    // of a large sum: that it is one number
    return known ? { kind: "number", value } : { kind: "shape", value: [] };
  if (!value.shape) return null; // a complex number
  const seen = known && value.shape.reduce((a, b) => a * b, 1) <= value.sample.length;
  if (
    step.phase === "primal" ||
    !seen ||
    !value.sample.length ||
    typeof value.sample[0] === "object"
  )
    return { kind: "shape", value: value.shape };
  const at = (7 * k + 3) % value.sample.length,
    index = [];
  let rest = at;
  for (const size of [...value.shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return { kind: "element", value: value.sample[at], index, at };
}

export function near(answer, value) {
  const truth =
    typeof value === "string"
      ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[value]
      : Number(value);
  if (Number.isNaN(truth) || !Number.isFinite(truth)) return Object.is(answer, truth);
  return Math.abs(answer - truth) <= Math.max(TOLERANCE * Math.abs(truth), 5e-4);
}

export const predictView = {
  name: "predict",
  ready: (trace) =>
    trace.steps.some((step, k) =>
      asked(
        trace.nodes.find((node) => node.id === step.node),
        step,
        k,
      ),
    ),
  make({ trace, t, at, advance, gate, log, answers, hosted }) {
    const { steps } = trace,
      byId = new Map(trace.nodes.map((node) => [node.id, node])),
      columns = new Map(trace.columns.map((c) => [c.key, c]));
    const sizeOf = (id) => (byId.get(id).shape ?? []).reduce((a, b) => a * b, 1);
    const asking = steps.map((step, k) => asked(byId.get(step.node), step, k, sizeOf)),
      which = h("p", { class: "mg-note" });
    const pass = (step) =>
      trace.passes?.length && step.pass !== undefined ? { pass: step.pass } : {};
    const answered = new Set([
        ...answers().map((a) => a.step),
        ...steps.slice(0, at()).map((_, i) => i),
      ]),
      question = h("p", { class: "mg-question" }),
      result = h("p", { class: "mg-sumup", role: "status" });
    const input = h("input", {
      type: "text",
      inputmode: "decimal",
      class: "mg-answer",
      "aria-label": t("yourAnswer"),
      autocomplete: "off",
    });
    const give = h(
      "button",
      { type: "button", class: "mg-fold", onclick: () => answer(null) },
      t("showMe"),
    );
    // No form: a cell output's frame may not submit one. Enter is taken here, before anybody else's
    // shortcuts.
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      answer(input.value);
    });
    const send = { type: "button", class: "mg-fold", onclick: () => answer(input.value) };
    const form = h("div", { class: "mg-predict" }, input, h("button", send, t("check")), give);
    const list = h("ol", { class: "mg-log" }),
      save = h("a", { class: "mg-fold", download: "answers.json", href: "data:," }, t("download"));
    const score = h("p", { class: "mg-note" }),
      details = h("details", null, h("summary", null, t("answers")), list, !hosted && save);
    // index of the next step that asks
    const next = (k) => asking.findIndex((what, i) => i >= k && what && !answered.has(i));
    const open = gate((to) => {
      const wall = next(0);
      return wall < 0 ? to : Math.min(to, wall);
    });
    function answer(text) {
      const k = next(at()),
        step = steps[k];
      if (k < 0 || k !== at()) return;
      const what = asking[k],
        form = what.kind === "shape",
        value = form ? shapeText(what.value) : short(what.value);
      const given = text === null ? null : form ? readShape(text) : readNumber(text);
      if (given === undefined) {
        result.textContent = t(form ? "notShape" : "notNumber", { text });
        return;
      }
      const correct =
          given !== null && (form ? String(given) === String(what.value) : near(given, what.value)),
        before = typeof given === "number" && !correct && isPart(step, given, what);
      answered.add(k);
      log({
        step: k,
        node: step.node,
        column: step.writes[0][1],
        answer:
          form && given
            ? shapeText(given)
            : Number.isFinite(given)
              ? given
              : given === null
                ? null
                : String(given),
        correct,
        ...(what.kind === "number" ? {} : { asked: form ? "shape" : what.index }),
        ...pass(step),
      });
      const mine = form && given ? shapeText(given) : short(given);
      result.textContent =
        given === null
          ? t("shown", { value })
          : correct
            ? t("right", { value })
            : t(before ? "wrongPart" : "wrong", { given: mine, value });
      result.classList.toggle("mg-refused", !correct);
      input.value = "";
      advance(k + 1);
      if (next(0) >= 0) input.focus({ preventScroll: true });
    }
    const isPart = (step, given, { kind, at: place }) =>
      step.phase === "accumulate" &&
      (step.contribs ?? []).some((c) =>
        near(given, kind === "element" ? c.product.sample?.[place] : c.product),
      );
    function draw(k) {
      const i = next(0),
        here = i === k,
        step = steps[i];
      form.hidden = !here;
      const [row, column] =
        (here &&
          asking[i].kind === "number" &&
          step.entries?.find(([, , value]) => value === asking[i].value)) ||
        [];
      const told = here
        ? [
            passText(trace, t, step.pass),
            row === undefined
              ? ""
              : t("askEntry", {
                  row: trace.jacobian.rows[row],
                  column: trace.jacobian.columns[column],
                }),
          ]
        : [];
      which.replaceChildren(
        ...told.filter(Boolean).map((text) => h("span", { class: "mg-pass" }, text, " ")),
      );
      which.hidden = !which.childElementCount;
      const name = step && nodeName(byId.get(step.node));
      if (here) {
        const what = asking[i],
          index = what.index?.join(", "),
          words =
            {
              shape: "askShape",
              element: step.phase === "accumulate" ? "askSumElement" : "askElement",
            }[what.kind] ?? (step.phase === "accumulate" ? "askSum" : "ask");
        const sym = {
          t: "sym",
          ...byId.get(step.node).label,
          accent: { d: "dot", g: "bar" }[step.writes[0][1]],
        };
        const end =
          what.kind === "shape"
            ? [{ t: "text", text: t("shapeOf") }]
            : index
              ? [{ t: "text", text: `[${index}]` }]
              : [];
        question.replaceChildren(
          t(words, { column: columnName(columns.get(step.writes[0][1]), t), node: name, index }),
          " ",
          math([
            ...(what.kind === "shape" ? end : []),
            sym,
            ...(index ? end : []),
            { t: "op", text: "=" },
            { t: "text", text: "?" },
          ]),
        );
        input.setAttribute("inputmode", what.kind === "shape" ? "text" : "decimal");
      } else question.replaceChildren(i < 0 ? t("predictDone") : t("predictOn", { step: i + 1 }));
      const given = answers().filter((a) => a.column !== "order");
      score.hidden = !given.length;
      score.textContent = t("score", {
        right: given.filter((a) => a.correct).length,
        n: given.length,
      });
      list.replaceChildren(
        ...given.map((a) =>
          h(
            "li",
            null,
            `${t("slider")} ${a.step + 1}, ${a.node} (${t(a.column)}): ` +
              `${a.answer ?? "—"} ${a.correct ? "✓" : "✗"}`,
          ),
        ),
      );
      save.setAttribute(
        "href",
        "data:application/json," + encodeURIComponent(JSON.stringify(answers())),
      );
    }
    return {
      box: h(
        "div",
        null,
        h("div", { "aria-live": "polite" }, which, question),
        form,
        result,
        score,
        details,
      ),
      update: draw,
      destroy: open,
    };
  },
};
