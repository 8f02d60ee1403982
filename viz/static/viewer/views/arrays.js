// Arrays large: what this step reads and writes, every element where the Trace holds them, else a
// heat map with its scale and summary.

import { heatMap, heatOf, kindOf, letterOf, LEVELS, scaleOf } from "../arrays.js";
import { h, note, s } from "../dom.js";
import { nodesOf } from "../fold.js";
import { columnMark, columnName, nodeName } from "../formulas.js";
import { shapeText } from "../array_text.js";
import { numberOf, short } from "../numbers.js";
import { factsOf, full } from "../summaries.js";
import { lightEntry, meetingIn } from "./entries.js";
import { fitterOf } from "./grown.js";

const MOST_WRITTEN = 64, // elements written out
  FEW_WRITTEN = 16, // where more do not fit
  MAPS_DRAWN = 16, // each of the last two axes
  LARGEST_CELL = 16, // pixels, at most
  SMALLEST_CELL = 4,
  MAP_SIDE = 140; // one of several maps

// The maps of an array of three axes or more, such as a layer's channels, where the Trace holds all
// elements: each as it is, in the colours of one scale. Null for any other.
function mapsOf(value) {
  const { shape, elements = value.sample } = value,
    [down, across] = shape.slice(-2),
    one = down * across;
  if (shape.length < 3 || !one || elements.length !== shape.reduce((a, b) => a * b)) return null;
  const numbers = elements.map(numberOf),
    scale = scaleOf(numbers),
    levels = numbers.map((v) => letterOf(v, scale)).join("");
  return Array.from({ length: numbers.length / one }, (_, i) => ({
    shape: [down, across],
    levels: levels.slice(i * one, (i + 1) * one),
  }));
}

export const arraysView = {
  name: "arrays",
  title: { en: "Arrays of this step", zh: "这一步的数组" },
  width: 360, // what is known of an array in one line
  ready: (trace) => trace.nodes.some((node) => node.shape?.length),
  // Long: a closure, whose functions share these elements and the state.
  make(host) {
    const { trace, t } = host,
      byId = nodesOf(trace),
      columns = new Map(trace.columns.map((c) => [c.key, c]));
    const box = h("div", { class: "mg-arrays" });
    let redraw = () => {},
      less = 0;
    function draw(level) {
      less = level;
      redraw();
    }
    function card([id, column, role], state, asked) {
      const node = byId.get(id),
        value = asked && role === "written" ? "?" : state.get(`${id}\u0000${column}`);
      const head = h(
        "p",
        { class: "mg-arrayhead" },
        columnMark(column),
        ` ${nodeName(node)} · ${columnName(columns.get(column), t)} · ${t(role)}`,
      );
      return h(
        "div",
        { class: `mg-array mg-c-${column} mg-${role}`, "data-node": id },
        head,
        picture(value, node),
      );
    }
    function picture(value, node) {
      if (value === null || typeof value !== "object" || !value.sample)
        return h("p", { class: "mg-big" }, short(value));
      const { shape, sample } = value,
        heat = heatOf(value),
        size = shape.reduce((a, b) => a * b, 1);
      const facts = h(
        "p",
        { class: "mg-note" },
        [`${shapeText(shape)} ${node.dtype ?? ""}`, ...factsOf(value, t)].join(" · "),
      );
      if (
        sample.length === size &&
        shape.length <= 2 &&
        size <= (less > 1 ? FEW_WRITTEN : MOST_WRITTEN) &&
        size &&
        shape.at(-1) <= 8
      )
        return h("div", null, elements(value, heat), facts);
      if (!heat) return h("div", null, h("p", null, short(value)), facts);
      const maps = mapsOf(value),
        [rows, wide] = heat.shape;
      const drawn = (map) => {
        const [down, across] = map.shape,
          most = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, MAP_SIDE / Math.max(across, down))),
          w = maps ? across * most : Math.min(2 * MAP_SIDE, across * LARGEST_CELL),
          tall = maps ? down * most : Math.min(160, down * LARGEST_CELL);
        return s(
          "svg",
          { viewBox: `0 0 ${w} ${tall}`, width: w / (1 + less), height: tall / (1 + less) },
          heatMap(map, 0, 0, w, tall),
        );
      };
      return h(
        "div",
        null,
        h(
          "div",
          { class: "mg-several", role: "img", "aria-label": full(value, t) },
          (maps ?? [heat]).slice(0, MAPS_DRAWN).map(drawn),
        ),
        facts,
        !maps && kindOf(shape) === "heat" && rows * wide < size
          ? note(t("heatSample", { shown: rows * wide, size }))
          : null,
      );
    }
    function elements({ shape, sample }, heat) {
      const wide = shape.at(-1),
        rows = [];
      for (let i = 0; i < sample.length; i += wide)
        rows.push(
          h(
            "tr",
            null,
            sample
              .slice(i, i + wide)
              .map((v, j) =>
                h(
                  "td",
                  {
                    class: heat
                      ? `mg-cell mg-h${Math.max(0, LEVELS.indexOf(heat.levels[i + j]))}`
                      : null,
                  },
                  short(v),
                ),
              ),
          ),
        );
      return h("table", { class: "mg-elements" }, h("tbody", null, rows));
    }
    // Before the first step, and of a step that only frees memory.
    function without(step) {
      const n = trace.steps.length;
      if (!step) return t(n === 1 ? "stillStartOne" : "stillStart", { n });
      const freed = (step.free ?? [step.node]).map((id) => nodeName(byId.get(id)));
      return t("arraysFreed", { names: freed.join(t("comma")) });
    }
    // To the view of the entry alone, in the place of this one.
    function toElement() {
      host.views.set("arrays", false);
      host.views.set("element", true);
      host.focus();
    }
    // asked: the step that is in question yet
    function show(done, state, asked) {
      const step = asked ?? done,
        found = [
          ...(step?.writes ?? []).map(([id, c]) => [id, c, "written"]),
          ...(step?.reads ?? []).map(([id, c]) => [id, c, "read"]),
        ];
      const once = found.filter(
        ([id, c], i) => found.findIndex(([a, b]) => a === id && b === c) === i,
      );
      const cards = new Map(
        once.map((cell) => [`${cell[0]} ${cell[1]}`, card(cell, state, asked)]),
      );
      const met = asked ? null : lightEntry(host, step, state, cards);
      const isColoured = [...cards.values()].some((one) => one.querySelector(".mg-cell, .mg-heat")),
        opens = { class: "mg-fold", onclick: toElement },
        about = h(
          "div",
          { class: "mg-picks" },
          isColoured && note(t("heatKey")),
          met && meetingIn(host, step) && h("button", opens, t("toElement")),
        );
      box.replaceChildren(...cards.values(), about, ...(met ? [met] : []));
      if (!once.length) box.append(note(without(step)));
      const spread = (step?.edges ?? [])
        .map((id) => trace.edges.find((e) => e.id === id))
        .filter((e) => e?.broadcast);
      for (const e of spread) {
        const [from, to] = [byId.get(e.src), byId.get(e.dst)].map((node) =>
          shapeText(node.shape ?? []),
        );
        const back = step.writes?.[0]?.[1] === "g";
        box.append(
          h(
            "p",
            { class: "mg-sumup" },
            t(back ? "sumBack" : "broadcast", { node: nodeName(byId.get(e.src)), from, to }),
          ),
        );
      }
    }
    return {
      box,
      draw,
      fit: fitterOf(box, draw),
      update(k, ...now) {
        redraw = () => show(...now);
        redraw();
      },
    };
  },
};
