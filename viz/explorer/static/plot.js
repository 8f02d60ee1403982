// The function over one of its inputs, and its tangent at the point, which can be dragged.

import { heightsOf, pathOf } from "../../static/viewer/curve.js";
import { h, s } from "../../static/viewer/dom.js";
import { short } from "../../static/viewer/numbers.js";
import { differentiate, evaluateAt } from "./engine.js";

const PLOT_WIDE = 640,
  PLOT_TALL = 260,
  PLOT_RIM = 34,
  PLOT_POINTS = 240,
  PLOT_FEWEST = 40,
  PLOT_WORK = 60000, // nodes that a plot may compute in all
  PLOT_HALVINGS = 24,
  PLOT_JUMP = 0.02; // the smallest jump that is looked for, in heights of the plot

// A window around a value, in which it can be dragged.
function windowAround(x) {
  const middle = Number.isFinite(x) ? x : 0,
    half = Math.max(2, 10 ** Math.ceil(Math.log10(Math.abs(middle) || 1)) / 2);
  return [middle - half, middle + half];
}

// The value and the slope along an input, by reverse mode; null where there is none.
function slopeAt(compiled, values, name) {
  try {
    const { steps, outputs } = differentiate(compiled, values, { mode: "reverse" });
    const last = (id, column) =>
      steps
        .flatMap(({ writes }) => writes)
        .findLast(([node, key]) => node === id && key === column);
    const [value, slope] = [last(outputs[0], "v")[2], last(name, "g")?.[2] ?? 0];
    return Number.isFinite(value - slope) ? { value, slope } : null;
  } catch {
    return null;
  }
}

// A function of one input; NaN where there is no value.
const along = (compiled, values, name) => (x) => {
  try {
    return evaluateAt(compiled, { ...values, [name]: x });
  } catch {
    return NaN;
  }
};

function sampled(f, [from, to], nodes) {
  const points = Math.max(PLOT_FEWEST, Math.min(PLOT_POINTS, Math.round(PLOT_WORK / nodes)));
  return Array.from({ length: points + 1 }, (_, k) => {
    const x = from + ((to - from) * k) / points;
    return [x, f(x)];
  });
}

// Whether f jumps between two points, as at a pole: of a continuous function the difference shrinks
// where the interval is halved again and again, always towards the larger difference.
function jumps(f, [from, low], [to, high], least) {
  for (let k = 0; k < PLOT_HALVINGS; k++) {
    if (!(Math.abs(high - low) > least)) return false;
    const middle = (from + to) / 2,
      value = f(middle);
    if (!Number.isFinite(value)) return true;
    if (Math.abs(value - low) > Math.abs(high - value)) [to, high] = [middle, value];
    else [from, low] = [middle, value];
  }
  return true;
}

// The points with a hole wherever f jumps between two of them.
const withHoles = (f, points, least) =>
  points.flatMap((one, k) =>
    k > 0 && jumps(f, points[k - 1], one, least) ? [[one[0], NaN], one] : [one],
  );

// host: what the page offers. Returns a panel.
// Long: a closure, whose functions share these elements and the state.
export function plotPanel(host) {
  const choice = h("select", {
    ...{ class: "mgx-select", "aria-label": "input of the plot", onchange: () => draw() },
  });
  const svg = s("svg", {
    ...{ class: "mgx-plot", viewBox: `0 0 ${PLOT_WIDE} ${PLOT_TALL}`, "aria-label": "plot" },
    ...{ role: "group" },
  });
  const clip = s(
    "clipPath",
    { id: "mgx-clip" },
    s("rect", {
      ...{ x: PLOT_RIM, width: PLOT_WIDE - 2 * PLOT_RIM, height: PLOT_TALL - PLOT_RIM },
    }),
  );
  const axes = s("g", { class: "mgx-axes" }),
    curve = s("path", { class: "mgx-curve", "clip-path": "url(#mgx-clip)" }),
    tangent = s("line", { class: "mgx-tangent", "clip-path": "url(#mgx-clip)" });
  const point = s("circle", {
    ...{ class: "mgx-point", r: 8, tabindex: 0, role: "slider" },
  });
  svg.append(clip, axes, curve, tangent, point);
  const said = h("p", { class: "mgx-slope" });
  const element = h(
    "section",
    { class: "mg-root mgx-panel", "aria-label": "plot" },
    h("div", { class: "mgx-tools" }, h("h2", null, "f and its tangent over"), choice),
    svg,
    said,
  );
  let found = null,
    ends = null,
    drawnFor = "",
    points = [],
    asked = 0;

  function draw() {
    const { compiled, values } = found,
      name = choice.value,
      x = values[name],
      of = `${compiled.source} ${name}`;
    if (drawnFor !== of || !ends || x <= ends[0] || x >= ends[1]) ends = windowAround(x);
    drawnFor = of;
    const f = along(compiled, values, name),
      here = slopeAt(compiled, values, name);
    points = sampled(f, ends, found.trace.nodes.length);
    point.style.display = tangent.style.display = here ? "" : "none";
    const heights = heightsOf(points, here?.value ?? 0);
    const toX = (one) =>
        PLOT_RIM + ((one - ends[0]) / (ends[1] - ends[0])) * (PLOT_WIDE - 2 * PLOT_RIM),
      toY = (y) => (1 - (y - heights[0]) / (heights[1] - heights[0])) * (PLOT_TALL - PLOT_RIM);
    drawAxes(toX, toY, heights);
    const whole = withHoles(f, points, PLOT_JUMP * (heights[1] - heights[0]));
    curve.setAttribute("d", pathOf(whole, toX, toY, heights));
    said.textContent = "";
    if (!here) return;
    const { value, slope } = here,
      line = (at) => toY(value + slope * (at - x));
    const placed = { x1: toX(ends[0]), y1: line(ends[0]), x2: toX(ends[1]), y2: line(ends[1]) };
    for (const [key, number] of Object.entries(placed)) tangent.setAttribute(key, number);
    point.setAttribute("cx", toX(x));
    point.setAttribute("cy", toY(value));
    const facts = { label: name, valuemin: ends[0], valuemax: ends[1], valuenow: x };
    facts.valuetext = `${name} = ${short(x)}, f = ${short(value)}, slope ${short(slope)}`;
    for (const [key, one] of Object.entries(facts)) point.setAttribute(`aria-${key}`, one);
    said.textContent =
      `At ${name} = ${short(x)}, f is ${short(value)} and its slope is ${short(slope)}.`;
  }
  function drawAxes(toX, toY, [low, high]) {
    const line = (x1, y1, x2, y2) => s("line", { x1, y1, x2, y2 });
    const text = (x, y, value, anchor) => s("text", { x, y, "text-anchor": anchor }, short(value));
    const zero = low < 0 && high > 0 ? toY(0) : PLOT_TALL - PLOT_RIM;
    const parts = [line(PLOT_RIM, zero, PLOT_WIDE - PLOT_RIM, zero)];
    if (ends[0] < 0 && ends[1] > 0) parts.push(line(toX(0), 0, toX(0), PLOT_TALL - PLOT_RIM));
    const rounded = (value) => Number(value.toPrecision(3));
    parts.push(text(PLOT_RIM, PLOT_TALL - 8, rounded(ends[0]), "start"));
    parts.push(text(PLOT_WIDE - PLOT_RIM, PLOT_TALL - 8, rounded(ends[1]), "end"));
    parts.push(
      text(2, "1em", rounded(high), "start"),
      text(2, PLOT_TALL - PLOT_RIM, rounded(low), "start"),
    );
    axes.replaceChildren(...parts);
  }
  // Where f has no value, the point goes to the nearest place where it has one.
  function move(x) {
    const [from, to] = ends,
      rim = (to - from) / 100;
    const f = along(found.compiled, found.values, choice.value),
      inside = Number(Math.min(to - rim, Math.max(from + rim, x)).toPrecision(3)),
      defined = points.filter(([, y]) => Number.isFinite(y)).map(([at]) => at),
      nearest = defined.reduce(
        (best, at) => (Math.abs(at - inside) < Math.abs(best - inside) ? at : best),
        found.values[choice.value],
      );
    const place = Number.isFinite(f(inside)) ? inside : Number(nearest.toPrecision(3));
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => host.typeValue(choice.value, String(place)));
  }
  function dragged(event) {
    if (!found || !ends || !(event.buttons & 1)) return;
    const box = svg.getBoundingClientRect(),
      across = ((event.clientX - box.left) / box.width) * PLOT_WIDE;
    move(ends[0] + ((across - PLOT_RIM) / (PLOT_WIDE - 2 * PLOT_RIM)) * (ends[1] - ends[0]));
    event.preventDefault();
  }
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    dragged(event);
    point.focus({ preventScroll: true });
  });
  svg.addEventListener("pointermove", dragged);
  point.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way || !ends) return;
    event.preventDefault();
    move(found.values[choice.value] + (way * (ends[1] - ends[0])) / 100);
  });
  return {
    element,
    show(given) {
      found = given;
      const { names } = given.compiled,
        before = choice.value;
      if ([...choice.options].map(({ value }) => value).join() !== names.join()) {
        choice.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
        choice.value = names.includes(before) ? before : names[0];
      }
      draw();
    },
  };
}
