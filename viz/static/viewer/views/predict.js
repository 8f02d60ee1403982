// Predict mode: the next value stays hidden until the reader has answered. It stands beside the
// controls. A first wrong answer gets a hint, a second one the value. Answers are compared with a
// tolerance and logged:
// {step, node, column, answer, correct, tries, asked?, pass?}; step counts the Trace's steps from
// 0, pass its passes, where it has several; asked is "shape" or an element's index.

import { announced, h } from "../dom.js";
import { readNumber } from "../expressions.js";
import { key, nodesOf } from "../fold.js";
import { columnName, math, nodeName, ruleOf } from "../formulas.js";
import { shapeText } from "../array_text.js";
import { short } from "../numbers.js";
import { passText } from "../speech.js";
import { readShape } from "./array_questions.js";
import { asked, misconception, near } from "./questions.js";

const STILL = { preventScroll: true },
  QUESTIONS_MEASURED = 3; // the longest

export const predictView = {
  name: "predict",
  title: { en: "Predict the next value", zh: "预测下一个值" },
  beside: true,
  ready: (trace) =>
    trace.steps.some((step, k) =>
      asked(
        trace.nodes.find((node) => node.id === step.node),
        step,
        k,
        (id) => trace.nodes.find((node) => node.id === id).shape ?? [],
      ),
    ),
  // Long: a closure, whose functions share these elements and the state.
  make(host) {
    const { trace, t, at, gate, answers } = host,
      quiz = questionsOf(trace, answers(), at()),
      question = drawQuestion(trace, t, toQuestion),
      score = drawScore(t, host),
      result = announced();
    const form = drawForm(t, answer),
      asking = h("div", { class: "mg-asked", "aria-live": "polite" }, question.which, question.box),
      box = h("div", { class: "mg-asking" }, asking, form.box, result);
    let place = null, // the question that was shown last
      reservedAt = -1, // the width for which the height of the questions is kept
      stays = quiz.passed > 0, // what is said is of no question, or of the one before
      refused = false, // a step was wanted while it stands there
      checked = ""; // what was typed on the stage when its next step was wanted
    const open = gate((to) => {
      const barrier = quiz.next(0);
      if (barrier < 0 || to <= barrier) return to;
      refused = barrier === at();
      if (refused) say([t("answerFirst")]);
      return barrier;
    });
    if (stays)
      result.append(
        t("predictFrom", { step: quiz.next(0) + 1, n: quiz.passed }),
        " ",
        h("button", { class: "mg-fold", onclick: askAll }, t("predictAll", { n: quiz.open })),
      );
    const asks = () => quiz.next(at()) === at(); // whether a question stands at this step
    function toQuestion() {
      host.advance(quiz.next(0));
    }
    function askAll() {
      quiz.askAll();
      stays = false;
      toQuestion();
    }
    function say(text, answered) {
      result.replaceChildren(...text);
      result.classList.toggle("mg-refused", answered?.answer != null && !answered.correct);
      stays = answered;
    }
    // A reader whose focus is in the viewer types at once, on a phone where the keyboard is there;
    // of one who answers the focus stays here.
    function show(k) {
      const i = quiz.next(0),
        here = i === k,
        now = document.activeElement,
        within = box.contains(now),
        reads = box.closest(".mg-root")?.contains(now),
        before = place;
      place = `${i} ${here}`;
      form.box.hidden = !here;
      question.show(i, here && quiz.asking[i]);
      score.show();
      const other = place !== before,
        types = (refused || other) && !matchMedia("(pointer: coarse)").matches;
      if (other) form.clear();
      if (other && !stays) result.replaceChildren();
      if (within || (reads && (here ? types : before === null)))
        (box.querySelector(here ? "input" : ".mg-question button") ?? host).focus(STILL);
      refused = false;
    }
    function answer(text) {
      const k = at();
      if (!asks()) return;
      // Enter, once more than needed: what is said of the question before is still to be read
      if (text !== null && !text.trim()) {
        if (!stays) say([t("answerFirst")]);
        return form.again();
      }
      const told = judge(host, quiz, k, text);
      say(told.say, told.entry);
      if (!told.entry) return form.again();
      quiz.answered.add(k);
      host.log(told.entry);
      let to = k + 1;
      while (trace.steps[to]?.phase === "seed") to += 1; // who has answered goes on typing
      host.advance(to);
    }
    return {
      box,
      aside: score.box,
      update: show,
      destroy: open,
      asks,
      // The height of the longest questions, and of the way to one, so that what is below never
      // moves.
      reserve() {
        const wide = asking.offsetWidth;
        if (reservedAt === wide) return;
        reservedAt = wide;
        const asked = quiz.longest().map((k) => [k, quiz.asking[k]]);
        const copies = [...asked, [trace.steps.length - 1]].map((what) => {
          const { which, box, show } = drawQuestion(trace, t);
          show(...what);
          return h("div", { class: "mg-asked mg-beside" }, which, box);
        });
        for (const { style } of copies) style.width = `${wide}px`;
        box.append(...copies);
        const heights = copies.map((copy) => Math.ceil(copy.getBoundingClientRect().height));
        copies.forEach((copy) => copy.remove());
        asking.style.minHeight = `${Math.max(...heights)}px`;
      },
      // On the stage: what is typed is checked once, else the value is shown. Whether a question
      // stands at this step.
      next() {
        const here = asks(),
          typed = form.typed().replace(/^[.b]+$/, ""); // a clicker's other keys
        if (here) answer(typed === checked ? null : typed || null);
        checked = here && asks() ? typed : "";
        return here;
      },
    };
  },
};

// The questions of a Trace by step, those that are answered, and how often each was tried. at: the
// step where it begins, behind which nothing is asked, unless all questions are.
function questionsOf(trace, answers, at) {
  const byId = nodesOf(trace),
    shapeOf = (id) => byId.get(id).shape ?? [],
    asking = trace.steps.map((step, k) => asked(byId.get(step.node), step, k, shapeOf));
  const given = answers.map((a) => a.step),
    open = [...asking.keys()].filter((i) => asking[i] && !given.includes(i)),
    passed = open.at(-1) >= at ? open.filter((i) => i < at) : [],
    answered = new Set([...given, ...passed]);
  // how long a question is, in letters, about
  const length = (i) =>
    nodeName(byId.get(trace.steps[i].node)).length * 2 +
    (asking[i].kind === "element" ? 20 : 0) +
    (trace.steps[i].phase === "accumulate" || trace.steps[i].partial ? 30 : 0) +
    (trace.steps[i].entries ? 99 : 0);
  return {
    asking,
    answered,
    passed: passed.length,
    open: open.length,
    askAll: () => passed.forEach((i) => answered.delete(i)),
    longest: () => [...open].sort((a, b) => length(b) - length(a)).slice(0, QUESTIONS_MEASURED),
    tries: new Map(),
    // index of the next step that asks
    next: (k) => asking.findIndex((what, i) => i >= k && what && !answered.has(i)),
  };
}

// What is said of an answer (null: the value was asked for), and its entry in the log, where the
// question is over. A first wrong answer is no entry.
function judge({ trace, t, stateAt }, quiz, k, text) {
  const step = trace.steps[k],
    what = quiz.asking[k],
    shape = what.kind === "shape",
    said = (value) => (shape ? shapeText(value) : short(value)),
    value = said(what.value);
  const read = (typed) => (shape ? readShape(typed) : readNumber(named(typed, stateAt(k)))),
    given = text === null ? null : read(text),
    correct =
      given !== null && (shape ? String(given) === String(what.value) : near(given, what.value)),
    endless = !correct && Math.abs(given) === Infinity && !/inf|∞/i.test(text); // 1/0 is no number
  if (given === undefined || endless) {
    const open = text.split("(").length !== text.split(")").length;
    return { say: [t(shape ? "notShape" : open ? "notClosed" : "notNumber", { text })] };
  }
  const tries = (quiz.tries.get(k) ?? 0) + 1,
    hint = given === null ? null : misconception(trace, step, given, what, stateAt(k));
  quiz.tries.set(k, tries);
  if (given !== null && !correct && tries === 1)
    return { say: hintText(trace, t, hint, step, said(given)) };
  const entry = {
    step: k,
    node: step.node,
    column: step.writes[0][1],
    answer: given === null || Number.isFinite(given) ? given : shape ? said(given) : `${given}`,
    correct,
    tries,
    ...(what.kind === "number" ? {} : { asked: shape ? "shape" : what.index }),
    ...(trace.passes?.length && step.pass !== undefined ? { pass: step.pass } : {}),
  };
  const word =
    given === null ? "shown" : correct ? "right" : hint === "hintPart" ? "wrongPart" : "wrong";
  const cell = askedOf(trace, t, k, what),
    told = { value, given: given === null ? "" : said(given), asked: cell };
  const why = word === "wrong" && hint ? [" ", t(hint)] : [];
  return { say: [t(word, told), ...why], correct, entry };
}

// An answer with the numbers that stand on the screen in the place of their names: v1, and of
// adjoints and tangents v1bar and v1dot, as one types them, or v̄1.
const named = (text, state) =>
  text.normalize("NFD").replace(/[a-z][\w\u0304\u0307]*/gi, (word) => {
    const [accent = ""] = /[\u0304\u0307]|bar$|dot$/.exec(word) ?? [],
      column = { "\u0304": "g", bar: "g" }[accent] ?? "d",
      value = state.get(key(word, "v")) ?? state.get(key(word.replace(accent, ""), column));
    return typeof value === "number" && !["e", "pi"].includes(word) ? `(${value})` : word;
  });

// What was asked: the next question stands beside its answer.
function askedOf({ columns, steps }, t, k, { kind, index }) {
  const [node, name] = steps[k].writes[0];
  if (kind === "shape") return `${t("shapeOf")}${node}`;
  const column = columnName(columns.find((one) => one.key === name), t),
    soFar = steps[k].partial ? t("soFar") : "";
  return t("askedOf", { column, node: index ? `${node}[${index.join(", ")}]` : node }) + soFar;
}

// A hint: the misconception that gives this answer, else the rule of the step, behind the operation
// whose derivative it is.
function hintText({ edges, steps }, t, hint, step, given) {
  const added = step.phase === "accumulate" ? [step.formula[0], { t: "op", text: "+" }] : [],
    rule = [...added, ...ruleOf(step)],
    sender = edges.find(({ id }) => id === step.edges?.[0])?.dst,
    made = steps.find(({ node, phase }) => node === sender && phase === "primal"),
    operation = made && step.phase !== "primal" ? [math(ruleOf(made)), ": "] : [];
  return [
    t("notYet", { given }),
    " ",
    hint
      ? t(hint)
      : rule.length > added.length
        ? [t("hintRule"), " ", ...operation, math(rule)]
        : t("hintReads"),
  ].flat();
}

function drawForm(t, answer) {
  const input = h("input", {
    type: "text",
    class: "mg-answer",
    maxlength: 99,
    "aria-label": t("yourAnswer"),
    ...{ autocomplete: "off", autocapitalize: "off", autocorrect: "off", spellcheck: "false" },
  });
  const button = (name, onclick) =>
    h("button", { class: "mg-fold", onclick }, t(name));
  // No form: a cell output's frame may not submit one. Enter is taken here, before anybody else's
  // shortcuts.
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    answer(input.value);
  });
  return {
    box: h(
      "div",
      { class: "mg-predict" },
      input,
      button("check", () => answer(input.value)),
      button("showMe", () => answer(null)),
    ),
    again() {
      input.focus(STILL);
      input.select();
    },
    typed: () => input.value,
    clear() {
      input.value = "";
    },
  };
}

// The question in words and as a formula; above it, which pass and which entry of a Jacobian.
function drawQuestion(trace, t, go) {
  const byId = nodesOf(trace),
    columns = new Map(trace.columns.map((c) => [c.key, c])),
    which = h("p", { class: "mg-note" }),
    box = h("p", { class: "mg-question" });
  function entryOf(step, what) {
    const [row, column] =
      (what.kind === "number" && step.entries?.find(([, , value]) => value === what.value)) || [];
    if (row === undefined) return "";
    const { rows, columns: across } = trace.jacobian;
    return t("askEntry", { row: rows[row], column: across[column] });
  }
  function ask(step, what) {
    const name = nodeName(byId.get(step.node)),
      column = step.writes[0][1],
      index = what.index?.join(", "),
      arrives = { accumulate: "arrives", adjoint: step.partial && "arrivesFirst" }[step.phase],
      words = { shape: "askShape", element: "askElement" }[what.kind] ?? "ask";
    const accent = { d: "dot", g: "bar" }[column],
      text = (said) => ({ t: "text", text: said });
    return [
      arrives ? t(arrives) : "",
      t(words, { column: columnName(columns.get(column), t), node: name, index }),
      " ",
      math([
        ...(what.kind === "shape" ? [text(t("shapeOf").replace(/ $/, "\u00a0"))] : []),
        { t: "sym", ...byId.get(step.node).label, accent },
        ...(index ? [text(`[${index}]`)] : []),
        { t: "op", text: "=" },
        text("?"),
      ]),
    ];
  }
  return {
    which,
    box,
    // i: the next step that asks; what: what it asks, where it is the very next
    show(i, what) {
      const step = trace.steps[i],
        told = what ? [passText(trace, t, step.pass), entryOf(step, what)].filter(Boolean) : [];
      which.replaceChildren(...told.map((text) => h("span", { class: "mg-pass" }, text, " ")));
      which.hidden = !told.length;
      if (what) box.replaceChildren(...ask(step, what));
      else if (i < 0) box.replaceChildren(t("predictDone"));
      else {
        const button = h("button", { class: "mg-fold", onclick: go });
        button.textContent = t("predictGo");
        box.replaceChildren(t("predictOn", { step: i + 1 }), " ", button);
      }
      // on the stage a long one is written smaller
      box.style.setProperty("--mg-letters", box.textContent.length * (t.foreign ? 2 : 1));
    },
  };
}

// How many were right, at the first try too, how many were shown, and all answers, to be kept.
function drawScore(t, { answers }) {
  const note = h("span", { class: "mg-note" }),
    reached = { tabindex: "0", role: "group", "aria-label": t("answers") },
    list = h("ol", { class: "mg-log" }),
    save = h("a", { class: "mg-fold", download: "answers.json", href: "data:," }, t("download")),
    box = h(
      "details",
      { class: "mg-score-of" },
      h("summary", null, t("answers"), " ", note),
      h(
        "div",
        { class: "mg-answers" },
        h("div", { class: "mg-scroll mg-given", ...reached }, list),
        save,
      ),
    );
  // a value that was only asked for is no answer; after a wrong one it is
  const isShown = ({ answer, tries }) => answer === null && tries === 1;
  const marks = ({ tries, correct }) => (tries > 1 ? "✗" : "") + (correct ? "✓" : "✗");
  const line = (a) =>
    `${t("slider")} ${a.step + 1}, ${a.node} (${t(a.column)}): ` +
    (isShown(a) ? "—" : `${short(a.answer ?? "—")} ${marks(a)}`);
  return {
    box,
    show() {
      const given = answers().filter((a) => a.column !== "order"),
        right = given.filter((a) => a.correct),
        n = given.filter((a) => !isShown(a)).length,
        shown = given.length - n,
        first = right.filter((a) => (a.tries ?? 1) === 1).length;
      note.textContent = [
        n && t("score", { right: right.length, n, first }),
        shown && t("scoreShown", { n: shown }),
      ]
        .filter(Boolean)
        .join(" ");
      list.replaceChildren(...given.map((a) => h("li", null, line(a))));
      const kept = encodeURIComponent(JSON.stringify(answers()));
      save.setAttribute("href", `data:application/json,${kept}`);
    },
  };
}
