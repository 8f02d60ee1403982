// The source text, with the piece that is at work lit. The number of a line runs to it.

import { h, setText } from "./dom.js";
import { roundsOf } from "./rounds.js";
import { withOther } from "./two_sources.js";

// As the help lists them.
export const LINE_KEYS = [["Enter ⇧Enter", "keyLine"]];

const BEFORE_ROUND = "  # ";

// From a span to the range of letters that it is. Lines count from 1; columns count characters, of
// which some take two places in a JavaScript string.
function rangesIn(lines) {
  const offset = (line, column) => {
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    return (
      before +
      Array.from(lines[line - 1] ?? "")
        .slice(0, column)
        .join("").length
    );
  };
  return (span) => {
    const from = offset(span[0], span[1]);
    return [from, Math.max(from, offset(span[2], span[3]))];
  };
}

// move(k): goes to a step; at(): the present one.
// light(chosen, step, k): lights a node, or what a step is about; the branches that were not taken
// up to step k are crossed out. Where a condition is evaluated several times, the one before the
// node's own operation counts.
export function drawSource(trace, t, { move, at }) {
  if (typeof trace.source?.code !== "string" || !trace.source.code.trim()) return null;
  const code = trace.source.code.replace(/\n+$/, ""),
    lines = code.split("\n"),
    text = h("code"),
    first = trace.source.first_line ?? 1;
  const spans = new Map(trace.nodes.map((node) => [node.id, node.span])),
    senders = new Map(trace.edges.map((edge) => [edge.id, edge.dst]));
  const [range, rounds] = [rangesIn(lines), roundsOf(trace, t)],
    computed = new Map(); // by node: the number of steps up to its value
  trace.steps.forEach((step, i) => computed.has(step.node) || computed.set(step.node, i + 1));
  const missed = { class: "mg-skipped", title: t("skipped") };
  const file = trace.source.filename ? h("small", null, String(trace.source.filename)) : null,
    loop = drawLoop(trace, lines, first, rounds);
  // The node whose code a step is about: of a contribution the operation that sends it.
  function about(step) {
    const sender = senders.get(step?.edges?.[0]);
    return spans.get(sender) ? sender : step?.node;
  }
  const place = (step) => [spans.get(about(step))?.[0] ?? step.line, rounds(about(step)).told],
    gutter = drawGutter(lines.length, first, entries(trace.steps, place), t, { move, at });
  const scroll = h(
    "div",
    { class: "mg-scroll", tabindex: "0", role: "group", "aria-label": t("source") },
    gutter,
    h("pre", null, text),
  );
  const longest = Math.max(...lines.map((line) => Array.from(line).length)),
    own = { "--mg-longest": Math.max(longest, loop.longest), "--mg-rows": lines.length };
  const box = h(
    "figure",
    { class: "mg-box mg-source" },
    h("figcaption", null, h("span", null, t("source")), file, loop.round),
    loop.box,
    scroll,
  );
  for (const name in own) box.style.setProperty(name, own[name]);
  const drawn = {
    width: 44 + 7.9 * (longest + String(lines.length + first).length), // letters of 13 pixels
    box,
    follow: () => bringInto(scroll, text.querySelector("mark"), at()),
    light(chosen, step, k) {
      const id = chosen ?? about(step),
        line = chosen ? null : step?.line,
        span = spans.get(id) ?? (line ? [line, 0, line, Infinity] : null),
        known = [k, span ? Math.min(k, computed.get(id) ?? k) : 0],
        told = known.flatMap((count) => trace.steps.slice(0, count));
      let ranges = skipped(told).map((one) => [...range(one), "span", missed]);
      if (span) {
        const wrong = id === trace.error?.node && k === trace.steps.length,
          [from, to] = range(span);
        ranges = ranges.filter((one) => from < one[0] || to > one[1]); // it did run
        ranges.push([from, to, "mark", wrong ? { class: "mg-wrong" } : null]);
      }
      text.replaceChildren(...marked(code, ranges));
      loop.show(id, span?.[0]);
    },
  };
  return withOther(trace, drawn, (of) => drawSource(of, t, { move, at }));
}

// Which round of a loop this is; on the stage, which shows a line or four, with the loop's line,
// and outside of loops one more line of code.
function drawLoop({ nodes, blocks }, lines, first, roundsAround) {
  const loops = blocks?.some(({ kind }) => kind === "round"),
    number = h("pre", { class: "mg-gutter" }),
    head = h("code"),
    turn = h("span"),
    round = h("small"),
    box = loops && h("div", { class: "mg-loop" }, number, h("pre", null, head, turn));
  const letters = ({ id }) => {
    const { told, line } = roundsAround(id);
    return (lines[line - 1]?.length ?? 0) + BEFORE_ROUND.length + told.length;
  };
  return {
    ...{ box, round },
    longest: Math.max(0, ...(loops ? nodes : []).map(letters)),
    show(id, lit) {
      const { told, line } = roundsAround(id),
        above = line === lit ? undefined : lines[line - 1];
      box && (box.hidden = !told);
      setText(round, told);
      setText(turn, told && BEFORE_ROUND + told);
      setText(head, above ?? "");
      setText(number, above ? String(first + line - 1) : "");
    },
  };
}

// What is lit into view, inside the source's own box; before the first step its first line.
function bringInto(scroll, lit, k) {
  if (!k) scroll.scrollTop = 0;
  if (!lit) return;
  const { top, bottom, left, right } = lit.getBoundingClientRect(),
    seen = scroll.getBoundingClientRect();
  // the beginning of the line too, where both fit
  const numbers = scroll.firstChild.offsetWidth;
  scroll.scrollLeft += Math.min(right + 14 - seen.right, left - numbers - 4 - seen.left);
  if (top >= seen.top && bottom <= seen.bottom) return;
  const line = parseFloat(getComputedStyle(lit).lineHeight), // the first one stands there whole
    to = scroll.scrollTop + (top + bottom - seen.top - seen.bottom) / 2;
  scroll.scrollTop = Math.round(to / line) * line;
}

// The code with these ranges in elements; one that begins inside another is left out.
function marked(code, ranges) {
  const pieces = [];
  let at = 0;
  for (const [from, to, tag, look] of ranges.sort((a, b) => a[0] - b[0])) {
    if (from < at) continue;
    pieces.push(code.slice(at, from), h(tag, look, code.slice(from, to)));
    at = to;
  }
  return [...pieces, code.slice(at)];
}

// The numbers of the steps with which the program, or a pass, comes to each line: where a loop is
// one line, in each of its rounds.
function entries(steps, place) {
  const found = new Map();
  let last, around; // the line and the round
  steps.forEach((step, i) => {
    if (step.phase === "seed") return (last = null); // a pass begins
    const [line, round] = place(step);
    if (!line || (line === last && round === around)) return;
    found.set(line, [...(found.get(line) ?? []), i + 1]);
    last = line;
    around = round;
  });
  return found;
}

// The numbers of the lines. That of a line with steps is a button: it goes on to the next step that
// comes to the line, with Shift back to the last one, and from the end on to the beginning.
function drawGutter(count, first, entered, t, { move, at }) {
  const run = (line, back) => {
    const found = entered.get(line),
      next = back ? found.findLast((k) => k < at()) : found.find((k) => k > at());
    move(next ?? found.at(back ? -1 : 0));
  };
  const number = (line) => {
    const text = String(first + line - 1);
    if (!entered.has(line)) return h("span", { "aria-hidden": "true" }, text);
    const title = t("runTo", { line: text });
    return h(
      "button",
      ...[{ title, "aria-label": title, onclick: (e) => run(line, e.shiftKey) }],
      text,
    );
  };
  const numbers = Array.from({ length: count }, (_, i) => [i ? "\n" : "", number(i + 1)]);
  return h("pre", { class: "mg-gutter" }, numbers.flat());
}

// The spans of the branches that the conditions of these steps left out.
function skipped(steps) {
  const found = new Map();
  for (const step of steps)
    for (const { loop, runs, skips } of step.decides ?? []) {
      if (loop) continue;
      found.delete(String(runs));
      if (skips) found.set(String(skips), skips);
    }
  return [...found.values()];
}
