// The stepper: one reader of minigrad.trace/1 for every host (JupyterLab widget, cell output, single page).
//
// It never computes a derivative. A Trace's writes are absolute values, so the state at step k is a fold of the first k steps; the layout
// comes from Python; formulas are tokens. No imports, no network, no innerHTML: all text enters the page as text nodes.
// Read on in this order: texts, numbers, folding, formulas, geometry, mount (graph, table, panel, controls, keys), and the anywidget hook.

const SCHEMA = "minigrad.trace/1";

// ---- texts ------------------------------------------------------------------------------------------------------------------------------
// Every word of the interface. A second language is a second table with the same keys; missing keys fall back to English.
const TEXTS = {
  en: {
    viewer: "Evaluation trace: {title}", untitled: "untitled function",
    first: "First", back: "Back", play: "Play", pause: "Pause", next: "Next", last: "Last", slider: "Step", speed: "Speed",
    counter: "{k} / {n}", playback: "Playback", phases: "Go to the first step of", view: "View", help: "Help", keys: "Keyboard",
    v: "value", d: "tangent", g: "adjoint", columns: "Columns", explain: "Explanation", source: "Source code",
    seed: "seed", primal: "value", tangent: "tangent", adjoint: "adjoint", accumulate: "adjoint, accumulated",
    free: "free", update: "update",
    say: "Step {k} of {n}, {phase}: {say}",
    ready: "Ready: {n} steps. Press Space to play, or the right arrow key to take the first step.",
    empty: "This trace has no steps: nothing was computed.",
    graph: "Graph", read: "read", written: "written", table: "Evaluation trace", node: "node", made: "how it is made",
    input: "input", const: "constant", param: "parameter", zoomIn: "Zoom in", zoomOut: "Zoom out", fit: "Fit to width",
    nothing: "not computed", press: "Enter: go to the next step that touches it",
    errorTitle: "This trace cannot be shown", noLayout: "The trace has no layout, so only the table is shown.",
    keyStep: "one step back or on", keyShift: "the same, from anywhere, also from a node of the graph", keyEnds: "start, end",
    keyPhase: "previous, next phase", keyPlay: "play, pause", keyWalk: "on a node of the graph: its input, its user, its neighbours",
    keyEnter: "on a node: next step that touches it", keyHelp: "this help", keyEsc: "close this help; leave the viewer",
  },
};

// ---- numbers: the same rule as viz/numbers.py, four significant digits, six from 1,000 on -----------------------------------------------
const WORDS = { nan: "NaN", inf: "∞", "-inf": "−∞" };

export function short(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") return WORDS[value] ?? value;
  if (typeof value === "object") return "re" in value ? complex(value) : inline(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const sign = value < 0 ? "−" : "", size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return sign + size;
  const [mantissa, power] = size.toExponential(size >= 1000 && size < 1e6 ? 5 : 3).split("e"), exponent = Number(power);
  const trim = (s) => (s.includes(".") ? s.replace(/\.?0*$/, "") : s);
  if (exponent < -4 || exponent >= 6) return `${sign}${trim(mantissa)}e${exponent < 0 ? "−" : ""}${Math.abs(exponent)}`;
  const digits = mantissa.replace(".", "");
  if (exponent < 0) return sign + trim("0." + "0".repeat(-exponent - 1) + digits);
  return sign + trim(digits.slice(0, exponent + 1).padEnd(exponent + 1, "0") + "." + digits.slice(exponent + 1));
}

function complex(value) {
  const im = short(value.im);
  return `${short(value.re)}${im.startsWith("−") ? " − " : " + "}${im.replace("−", "")}i`;
}

function nested(sample, shape) {
  if (!shape.length) return short(sample[0]);
  if (shape.length === 1) return "[" + sample.map(short).join(", ") + "]";
  const stride = shape.slice(1).reduce((a, b) => a * b, 1);
  const rows = Array.from({ length: shape[0] }, (_, i) => nested(sample.slice(i * stride, (i + 1) * stride), shape.slice(1)));
  return "[" + rows.join(", ") + "]";
}

function inline(value, most = 4) {
  const shape = value.shape ?? [], sample = value.sample ?? [], size = shape.reduce((a, b) => a * b, 1);
  if (size === sample.length && size <= most) return size ? nested(sample, shape) : `[ ] ${shape.join("×")}`;
  return `${shape.join("×")} [${sample.slice(0, 3).map(short).join(", ")}, …]`;
}

export function brief(value, most = 18) {
  const text = short(value);
  if (text.length <= most || typeof value !== "object" || "re" in value) return text;
  return "min" in value && "max" in value ? `${short(value.min)} … ${short(value.max)}` : (value.shape ?? []).join("×");
}

function full(value) {
  if (value === null || typeof value !== "object" || "re" in value) return typeof value === "number" ? String(value) : short(value);
  const facts = ["min", "max", "norm"].filter((k) => k in value).map((k) => `${k} ${short(value[k])}`);
  const size = (value.shape ?? []).reduce((a, b) => a * b, 1), sample = value.sample ?? [];
  return `${(value.shape ?? []).join("×")} ${value.dtype ?? ""}: ${sample.map(short).join(", ")}${size > sample.length ? ", …" : ""}` +
    (facts.length ? ` (${facts.join(", ")})` : "");
}

// ---- folding: the state after k steps, from the nearest keyframe ------------------------------------------------------------------------
const KEYFRAME = 64;
const key = (node, column) => node + "\u0000" + column;

export function folder(steps) {
  const frames = [new Map()], running = new Map();
  steps.forEach((step, i) => {
    for (const [node, column, value] of step.writes ?? []) running.set(key(node, column), value);
    if ((i + 1) % KEYFRAME === 0) frames.push(new Map(running));
  });
  return (k) => {
    const frame = Math.floor(k / KEYFRAME), state = new Map(frames[frame]);
    for (const step of steps.slice(frame * KEYFRAME, k))
      for (const [node, column, value] of step.writes ?? []) state.set(key(node, column), value);
    return state;
  };
}

const PHASE_COLUMN = { primal: "v", tangent: "d", adjoint: "g", accumulate: "g", free: "g", update: "v" };
const columnOf = (step) => step.writes?.[0]?.[1] ?? PHASE_COLUMN[step.phase] ?? "v";

// What is wrong with a document, as a sentence; null when it can be shown.
export function problem(trace) {
  const kind = trace === null ? "null" : Array.isArray(trace) ? "list" : typeof trace, name = JSON.stringify;
  if (kind !== "object") return `A trace is a JSON object of the schema ${SCHEMA}, but this is: ${kind}.`;
  if (trace.schema !== SCHEMA) return `This viewer reads ${SCHEMA}, but the document says schema = ${name(trace.schema)}.`;
  for (const part of ["nodes", "edges", "columns", "steps"]) if (!Array.isArray(trace[part])) return `The trace has no list “${part}”.`;
  const ids = new Set(trace.nodes.map((node) => node?.id)), edges = new Set(), columns = new Set(trace.columns.map((c) => c?.key));
  for (const [i, node] of trace.nodes.entries()) if (typeof node?.id !== "string") return `Node ${i + 1} has no id.`;
  for (const e of trace.edges) {
    if (!ids.has(e?.src) || !ids.has(e?.dst)) return `Edge ${name(e?.id)} joins nodes that do not exist in this trace.`;
    edges.add(e.id);
  }
  for (const [i, step] of trace.steps.entries()) {
    const here = `Step ${i + 1}`;
    if (!ids.has(step?.node)) return `${here} is about the node ${name(step?.node)}, which does not exist in this trace.`;
    for (const e of step.edges ?? []) if (!edges.has(e)) return `${here} names the edge ${name(e)}, which does not exist in this trace.`;
    for (const cell of [...(step.reads ?? []), ...(step.writes ?? [])])
      if (!ids.has(cell?.[0]) || !columns.has(cell?.[1])) return `${here} reads or writes ${name(cell)}, no cell of this trace.`;
  }
  return null;
}

// ---- building elements ------------------------------------------------------------------------------------------------------------------
const SPACES = { svg: "http://www.w3.org/2000/svg", math: "http://www.w3.org/1998/Math/MathML" };

function build(space, tag, attributes, children) {
  const el = space ? document.createElementNS(SPACES[space], tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  el.append(...children.flat(Infinity).filter(Boolean));
  return el;
}
const h = (tag, attributes, ...children) => build(null, tag, attributes, children);
const s = (tag, attributes, ...children) => build("svg", tag, attributes, children);
const m = (tag, attributes, ...children) => build("math", tag, attributes, children);

const ICONS = {
  first: "M6 5v14M19 5l-9 7 9 7z", back: "M15.5 5l-8.5 7 8.5 7", play: "M8 5l11 7-11 7z", pause: "M8.5 5v14M15.5 5v14",
  next: "M8.5 5l8.5 7-8.5 7", last: "M18 5v14M5 5l9 7-9 7z", view: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4.5v5M8 14.5v5",
  zoomIn: "M12 6v12M6 12h12", zoomOut: "M6 12h12", fit: "M4 9V5h5M20 9V5h-5M4 15v4h5M20 15v4h-5",
};
const icon = (name) =>
  s("svg", { viewBox: "0 0 24 24", class: `mg-icon mg-icon-${name}`, "aria-hidden": "true" }, s("path", { d: ICONS[name] }));

// ---- formulas: tokens as MathML, and as runs of SVG text --------------------------------------------------------------------------------
const ACCENT = { dot: "˙", bar: "¯" }, COMBINING = { dot: "\u0307", bar: "\u0304" };
const ACCENT_COLUMN = { dot: "d", bar: "g" };
const RELATION = new Set(["=", "+=", "→", "≈", "←"]), SPACED = new Set([..."+−·/×@=→←≈<>≤≥≠", "+="]);

function symbol(token, colour = true) {
  const column = ACCENT_COLUMN[token.accent]; // plain symbols in ink: colour means a tangent or an adjoint
  const base = m("mi", null, String(token.base ?? ""));
  const body = ACCENT[token.accent] ? m("mover", { accent: "true" }, base, m("mo", { stretchy: "false" }, ACCENT[token.accent])) : base;
  const small = (text) => m(/^[\d,]+$/.test(text) ? "mn" : "mi", null, String(text));
  const attributes = { class: colour && column ? `mg-c-${column}` : null, "data-node": token.node };
  if (token.sub && token.sup) return m("msubsup", attributes, body, small(token.sub), small(token.sup));
  if (token.sub) return m("msub", attributes, body, small(token.sub));
  if (token.sup) return m("msup", attributes, body, small(token.sup));
  return m("mrow", attributes, body);
}

function number(value, column) {
  const text = short(value), [mantissa, power] = typeof value === "number" ? text.split("e") : [text];
  const attributes = { class: column ? `mg-c-${column}` : null };
  if (power === undefined) return m("mn", attributes, text);
  return m("mrow", attributes, m("mn", null, mantissa), m("mo", null, "×"), m("msup", null, m("mn", null, "10"), m("mn", null, power)));
}

// A function's name stands apart from its argument, except before a bracket.
const takesGap = (i, all) => i + 1 < all.length && all[i + 1].text !== "(";
const tokenRow = (tokens) => m("mrow", null, (tokens ?? []).map(tokenMath));

function tokenMath(token, i = 0, all = []) {
  switch (token.t) {
    case "sym": return symbol(token);
    case "num": return number(token.value, token.col);
    case "op": {
      const text = String(token.text ?? "");
      if (RELATION.has(text)) return m("mo", { lspace: "0.3em", rspace: "0.3em" }, text);
      return m("mo", SPACED.has(text) || text === "," ? { stretchy: "false" } : { stretchy: "false", lspace: "0", rspace: "0" }, text);
    }
    case "fn": return m("mrow", null, m("mi", null, String(token.text ?? "")), takesGap(i, all) && m("mspace", { width: "0.17em" }));
    case "frac": return m("mfrac", null, tokenRow(token.num), tokenRow(token.den));
    case "sup": return m("msup", null, tokenRow(token.base), tokenRow(token.exp));
    case "sqrt": return m("msqrt", null, tokenRow(token.of));
    default: return m("mtext", null, String(token.text ?? ""));
  }
}

const isRelation = (t) => t.t === "op" && RELATION.has(t.text);
const isAfter = (t) => t.t === "op" && t.text === "→"; // what follows is the running sum: before + part = after
const math = (tokens) => m("math", null, tokenRow(tokens));

// A formula may only break before its second, third … "=": each piece is a formula of its own.
function equation(tokens) {
  const end = tokens.findIndex(isAfter), pieces = [[]];
  let relations = 0;
  for (const t of end < 0 ? tokens : tokens.slice(0, end)) {
    if (isRelation(t) && relations++ > 0) pieces.push([]);
    pieces.at(-1).push(t);
  }
  return pieces.map((piece) => h("span", { class: "mg-piece" }, math(piece)));
}

function runs(tokens) {
  const single = (inner) => inner.length === 1 || (inner.length === 2 && inner[0].text === "∂");
  const grouped = (inner) => (single(inner) ? runs(inner) : [{ text: "(" }, ...runs(inner), { text: ")" }]);
  return tokens.flatMap((t, i) => {
    switch (t.t) {
      case "sym": return symbolRuns(t);
      case "num": return [{ text: short(t.value) }];
      case "op": return [{ text: SPACED.has(t.text) ? ` ${t.text} ` : t.text === "," ? ", " : String(t.text ?? "") }];
      case "fn": return [{ text: t.text + (takesGap(i, tokens) ? "\u2009" : "") }];
      case "frac": return [...grouped(t.num ?? []), { text: "/" }, ...grouped(t.den ?? [])];
      case "sup": return [...grouped(t.base ?? []), ...runs(t.exp ?? []).map((r) => ({ ...r, level: 1 }))];
      case "sqrt": return [{ text: "√" }, ...grouped(t.of ?? [])];
      default: return [{ text: String(t.text ?? "") }];
    }
  });
}
const symbolRuns = (label) => [
  { text: String(label.base ?? "").replace(/^./u, (first) => first + (COMBINING[label.accent] ?? "")), italic: true },
  ...(label.sub ? [{ text: String(label.sub), level: -1 }] : []),
  ...(label.sup ? [{ text: String(label.sup), level: 1 }] : []),
];
const plain = (pieces) => pieces.map((r) => (r.level > 0 ? "^" : "") + r.text).join("").replaceAll("\u2009", " ").trim();
const labelOf = (node) => node.label ?? { base: node.id };

function headingRuns(node) {
  const head = symbolRuns(labelOf(node)), expression = runs(node.expr ?? []);
  const all = expression.length ? [...head, { text: " = " }, ...expression] : head;
  const length = all.reduce((sum, r) => sum + Array.from(r.text).length, 0);
  return length <= 30 ? all : [...head, { text: " = " }, { text: String(node.op ?? "…") }];
}

function captionOf(node) {
  const name = String(node.name ?? ""), parts = [];
  if (name && name !== plain(symbolRuns(labelOf(node)))) parts.push(name.length <= 22 ? name : name.slice(0, 21) + "…");
  if (node.shape?.length) parts.push(`${node.shape.join("×")} ${node.dtype ?? ""}`.trim());
  return parts.join(" · ");
}

// Subscripts by dy, since baseline-shift is not supported everywhere.
function svgRuns(pieces) {
  let level = 0;
  return pieces.map((r) => {
    const to = r.level ?? 0, dy = (level - to) * 4.5;
    level = to;
    return s("tspan", { dy: dy || null, class: [r.italic ? "mg-i" : "", to ? "mg-small" : ""].join(" ").trim() || null }, r.text);
  });
}

// The formula with each symbol replaced by its value.
function spelled(tokens, state) {
  const cell = (t) => key(t.node, t.col ?? "v");
  return (tokens ?? []).map((t) => {
    if (t.t === "sym" && state.has(cell(t))) return { t: "num", value: state.get(cell(t)), col: t.col ?? "v" };
    if (t.t === "frac") return { ...t, num: spelled(t.num, state), den: spelled(t.den, state) };
    if (t.t === "sup") return { ...t, base: spelled(t.base, state), exp: spelled(t.exp, state) };
    return t.t === "sqrt" ? { ...t, of: spelled(t.of, state) } : t;
  });
}

// Sums beside the formula. The running sum of an adjoint always; the numbers of the step where its formula holds symbols only (fewer than
// two relations), from the contributions or by putting values in.
function arithmetic(step, state) {
  const op = (text) => ({ t: "op", text }), num = (value, col) => ({ t: "num", value, col });
  const column = columnOf(step), written = step.writes?.[0]?.[2], contribs = step.contribs ?? [], formula = step.formula ?? [], out = [];
  const product = (c) => {
    if (c.local === undefined) return [num(c.product)];
    const pair = [num(c.local), op("·"), num(c.upstream, column)];
    return column === "g" ? pair.reverse() : pair; // as the formulas are written: ẏ = ∂y/∂x · ẋ, but x̄ = ȳ · ∂y/∂x
  };
  if (formula.filter(isRelation).length < 2) {
    const from = formula.findIndex(isRelation), right = formula.slice(from + 1);
    if (contribs.length > 1 || contribs[0]?.local !== undefined) {
      const terms = contribs.flatMap((c, i) => (i ? [op("+"), ...product(c)] : product(c)));
      out.push([...terms, op("="), num(contribs.length === 1 ? contribs[0].product : written, column)]);
    } else if (!contribs.length && from >= 0 && right.length > 1) out.push([...spelled(right, state), op("="), num(written, column)]);
  }
  const after = formula.findIndex(isAfter);
  if (after >= 0) return [...out, formula.slice(after + 1)];
  const sum = (c) => [num(c.before, column), op("+"), num(c.product), op("="), num(c.after ?? written, column)];
  return [...out, ...contribs.filter((c) => c.before !== undefined).map(sum)];
}

// ---- geometry: cards and curves. The same constants as viz/layout/measure.py ------------------------------------------------------------
const HEAD = 30, CAPTION = 14, ROW = 18, SIDE = 12, HEAD_TIP = 8;

// A smooth curve that is level at both ends and monotone between its points (Fritsch and Carlson 1980), so it never swings into a card.
export function curve(points) {
  const n = points.length, slope = points.slice(1).map((p, i) => (p[1] - points[i][1]) / (p[0] - points[i][0] || 1));
  const tangent = points.map((_, i) => {
    if (i === 0 || i === n - 1 || slope[i - 1] * slope[i] <= 0) return 0;
    return (2 * slope[i - 1] * slope[i]) / (slope[i - 1] + slope[i]);
  });
  let d = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < n; i++) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i], reach = (x1 - x0) * (tangent[i - 1] || tangent[i] ? 1 / 3 : 0.45);
    const f = (v) => Math.round(v * 10) / 10;
    d += `C${f(x0 + reach)} ${f(y0 + tangent[i - 1] * reach)} ${f(x1 - reach)} ${f(y1 - tangent[i] * reach)} ${x1} ${y1}`;
  }
  return d;
}

// ---- the viewer -------------------------------------------------------------------------------------------------------------------------
let count = 0; // viewers on this page so far, for the ids that aria attributes refer to
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const motion = (smooth) => (smooth && !still() ? "smooth" : "instant");
const nodeAt = (target) => target?.closest?.("[data-node]")?.getAttribute("data-node") ?? null;

/**
 * Show a trace in an element.
 * options: step (where to start), onStep(k) (called when the reader moves), lang, theme ("light" or "dark"; default: the host's),
 * heading (true: the title is the page's h1).
 * Returns {go(k), step(), length, root, destroy()}.
 */
export function mount(el, trace, options = {}) {
  const words = { ...TEXTS.en, ...TEXTS[options.lang] };
  const t = (name, values = {}) => (words[name] ?? name).replace(/\{(\w+)\}/g, (_, k) => String(values[k] ?? ""));
  const wrong = problem(trace);
  if (wrong) return failure(el, t, wrong, options);
  try {
    return show(el, trace, options, t);
  } catch (error) {
    return failure(el, t, `${error?.name ?? "Error"}: ${error?.message ?? error}`, options);
  }
}

function failure(el, t, message, options) {
  const root = h("section", { class: "mg-root mg-failed", "data-theme": options.theme, "aria-label": t("errorTitle") },
    h("div", { role: "alert" }, h("p", { class: "mg-title" }, t("errorTitle")), h("p", null, message)));
  el.replaceChildren(root);
  return { go() {}, step: () => 0, length: 0, root, destroy: () => root.remove() };
}

const columnName = (column, t) => (t(column.key) === column.key ? String(column.label ?? column.key) : t(column.key));
const columnMark = (key) => m("math", { "aria-hidden": "true" }, symbol({ base: "v", accent: { d: "dot", g: "bar" }[key] }, false));
const nodeName = (node) => plain(symbolRuns(labelOf(node)));
const iconButton = (id, t, onclick) =>
  h("button", { type: "button", class: `mg-btn mg-btn-${id}`, "aria-label": t(id), title: t(id), onclick }, icon(id));

// ---- the graph --------------------------------------------------------------------------------------------------------------------------
function drawGraph(trace, t) {
  const place = trace.layout, { nodes, edges, columns } = trace;
  const cards = new Map(), wires = new Map();
  const under = s("g"), over = s("g"), labels = s("g", { "aria-hidden": "true" });
  for (const e of edges) {
    const points = place.edges?.[e.id]?.points;
    if (!points || points.length < 2) continue;
    const wire = drawWire(points);
    wires.set(e.id, wire);
    under.append(wire.group);
  }
  for (const node of nodes) {
    const box = place.nodes?.[node.id];
    if (!box) continue;
    const card = drawCard(node, box, columns);
    cards.set(node.id, card);
    over.append(card.group);
  }
  const view = { viewBox: `0 0 ${place.width} ${place.height}`, class: "mg-svg", role: "group", "aria-label": t("graph") };
  const svg = s("svg", view, under, over, labels);
  const scroll = h("div", { class: "mg-scroll mg-graph" }, svg);
  const swatch = (kind) => s("svg", { viewBox: "0 0 22 14", class: `mg-swatch mg-swatch-${kind}`, "aria-hidden": "true" },
    s("rect", { x: 2, y: 2, width: 18, height: 10, rx: 3 }));
  let zoom = 1, byReader = false, marked = [], lit = [];

  function zoomTo(to) {
    const centre = (scroll.scrollLeft + scroll.clientWidth / 2) / zoom;
    zoom = Math.min(3, Math.max(0.15, to));
    svg.setAttribute("width", Math.round(place.width * zoom));
    svg.setAttribute("height", Math.round(place.height * zoom));
    scroll.scrollLeft = centre * zoom - scroll.clientWidth / 2;
  }
  function zoomBy(factor) {
    byReader = true;
    zoomTo(zoom * factor);
  }
  // Legible first: shrink to the box only down to 75 %, else scroll.
  function fit(again = false) {
    if (again) byReader = false;
    if (byReader || !scroll.clientWidth) return;
    const whole = (scroll.clientWidth - 2) / place.width;
    zoomTo(whole < 0.75 ? 0.9 : Math.min(1.1, whole));
  }
  listenWheel(scroll, (delta) => zoomBy(Math.exp(-delta / 300)));

  // Scroll inside the graph's own box, and only as far as needed, never the page.
  function follow(id, smooth) {
    const behavior = motion(smooth), box = place.nodes?.[id];
    if (!box) return scroll.scrollTo({ left: 0, top: 0, behavior });
    const reach = { x: (box.w / 2) * zoom + 40, y: (box.h / 2) * zoom + 12 }, at = { x: box.x * zoom, y: box.y * zoom };
    const seenX = at.x - reach.x >= scroll.scrollLeft && at.x + reach.x <= scroll.scrollLeft + scroll.clientWidth;
    const seenY = at.y - reach.y >= scroll.scrollTop && at.y + reach.y <= scroll.scrollTop + scroll.clientHeight;
    if (seenX && seenY) return;
    const left = seenX ? scroll.scrollLeft : at.x - scroll.clientWidth / 2, top = seenY ? scroll.scrollTop : at.y - scroll.clientHeight / 2;
    scroll.scrollTo({ left, top, behavior });
  }

  // Rows of the columns that are shown, from the top; the heading squeezed if this reader's fonts are very wide.
  function arrange(shown) {
    for (const card of cards.values()) {
      let at = card.top + 14;
      for (const [column, { row, mark, value }] of card.rows) {
        row.classList.toggle("mg-off", !shown.has(column));
        if (!shown.has(column)) continue;
        mark.setAttribute("transform", `translate(${card.left} ${at})`);
        value.setAttribute("y", at);
        at += ROW;
      }
      if (card.heading.getComputedTextLength?.() > card.room) {
        card.heading.setAttribute("textLength", card.room);
        card.heading.setAttribute("lengthAdjust", "spacingAndGlyphs");
      }
    }
  }

  function update(step, state) {
    for (const element of marked) element.classList.remove("mg-read", "mg-write");
    for (const wire of lit) {
      wire.group.classList.remove("mg-lit");
      wire.point("forward");
    }
    marked = [];
    lit = [];
    labels.replaceChildren();
    for (const node of nodes) {
      const card = cards.get(node.id), spoken = [];
      if (!card) continue;
      for (const column of columns) {
        const value = state.get(key(node.id, column.key));
        setText(card.rows.get(column.key).value, brief(value));
        if (value !== undefined) spoken.push(`${columnName(column, t)} ${short(value)}`);
      }
      card.group.classList.toggle("mg-bare", !spoken.length);
      card.group.setAttribute("aria-label", `${plain(headingRuns(node))}; ${spoken.join(", ") || t("nothing")}`);
    }
    if (!step) return;
    const mark = (kind) => ([id, column]) => {
      const card = cards.get(id);
      if (!card) return;
      marked.push(card.group, card.rows.get(column).value);
      marked.slice(-2).forEach((element) => element.classList.add(kind));
    };
    (step.reads ?? []).forEach(mark("mg-read"));
    (step.writes ?? []).forEach(mark("mg-write"));
    for (const id of step.edges ?? []) {
      const wire = wires.get(id);
      if (!wire) continue;
      wire.group.classList.add("mg-lit");
      wire.point(columnOf(step) === "g" ? "backward" : "forward");
      under.append(wire.group); // on top of edges that share its way
      lit.push(wire);
    }
    for (const { edge, local } of step.contribs ?? [])
      if (local !== undefined && wires.has(edge)) label(wires.get(edge), "× " + brief(local, 12));
  }

  // The local derivative on its edge: what the value that passes is multiplied by.
  function label({ middle: [x, y] }, text) {
    const width = Array.from(text).length * 7 + 10;
    const pill = s("rect", { x: x - width / 2, y: y - 9, width, height: 18, rx: 9 });
    labels.append(s("g", { class: "mg-label" }, pill, s("text", { x, y: y + 4 }, text)));
  }

  // The neighbour of a node in the direction of an arrow key: an input, a user, the next above or below.
  function neighbour(id, arrow) {
    const box = place.nodes[id];
    const beside = (b) => b && Math.abs(b.x - box.x) < 2 && (arrow === "ArrowUp" ? b.y < box.y : b.y > box.y);
    const found = arrow === "ArrowLeft" ? edges.filter((e) => e.dst === id).map((e) => e.src)
      : arrow === "ArrowRight" ? edges.filter((e) => e.src === id).map((e) => e.dst)
      : nodes.map((node) => node.id).filter((other) => beside(place.nodes[other]));
    const distance = (other) => Math.abs(place.nodes[other].y - box.y);
    return found.sort((a, b) => distance(a) - distance(b))[0];
  }
  function walk(id, arrow) {
    const next = neighbour(id, arrow);
    if (!next) return;
    cards.get(next).group.focus({ preventScroll: true });
    follow(next, true);
  }
  // One stop of the Tab key for the whole graph: the node that had the focus last.
  function rove(id) {
    for (const [other, card] of cards) card.group.setAttribute("tabindex", other === id ? "0" : "-1");
  }
  if (cards.size) rove(cards.keys().next().value);

  const smaller = iconButton("zoomOut", t, () => zoomBy(0.8)), larger = iconButton("zoomIn", t, () => zoomBy(1.25));
  const whole = iconButton("fit", t, () => fit(true));
  const legend = h("span", { class: "mg-legend" }, swatch("read"), t("read"), swatch("write"), t("written"));
  const caption = h("figcaption", null, h("span", null, t("graph")), legend, h("div", { class: "mg-zoom" }, smaller, whole, larger));
  return { box: h("figure", { class: "mg-box" }, caption, scroll), svg, cards, fit, follow, arrange, update, walk, rove };
}

function setText(element, text) {
  if (element.textContent === text) return false;
  element.textContent = text;
  return true;
}

function listenWheel(element, handler) {
  element.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // plain turning scrolls; with Ctrl, and by pinching a touchpad, it zooms
    event.preventDefault();
    handler(event.deltaY);
  });
}

function drawWire(points) {
  const [x0, y0] = points[0], [x1, y1] = points.at(-1), before = points.at(-2);
  const line = s("path", { class: "mg-wire" }), tip = s("path", { class: "mg-tip" });
  const ways = {
    forward: [curve([...points.slice(0, -1), [x1 - HEAD_TIP, y1]]), `M${x1} ${y1}l-10 -4.5v9z`],
    backward: [curve([[x0 + HEAD_TIP, y0], ...points.slice(1)]), `M${x0} ${y0}l10 -4.5v9z`],
  };
  function point(way) {
    line.setAttribute("d", ways[way][0]);
    tip.setAttribute("d", ways[way][1]);
  }
  point("forward");
  return { group: s("g", { class: "mg-edge" }, line, tip), middle: [(before[0] + x1) / 2, (before[1] + y1) / 2], point };
}

const CORNER = { input: 15, output: 15, param: 15, const: 2 };
const ACCENT_SHAPE = { d: () => s("circle", { cx: 5, cy: -11.5, r: 1.5 }), g: () => s("path", { d: "M1.5 -11h7" }) };

function drawCard(node, { x, y, w, h: tall }, columns) {
  const left = x - w / 2, top = y - tall / 2, small = captionOf(node), body = top + HEAD + (small ? CAPTION : 0);
  const corner = CORNER[node.kind] ?? 7, kind = /^\w+$/.test(node.kind) ? node.kind : "op";
  const rim = (grow, name) =>
    s("rect", { x: left - grow, y: top - grow, width: w + 2 * grow, height: tall + 2 * grow, rx: corner + grow, class: name });
  const heading = s("text", { x, y: top + 20, class: "mg-heading" }, svgRuns(headingRuns(node)));
  const rows = new Map();
  for (const { key: column } of columns) {
    const mark = s("g", { class: `mg-mark mg-c-${column}` }, s("text", null, "v"), ACCENT_SHAPE[column]?.());
    const value = s("text", { x: left + w - SIDE, class: `mg-value mg-c-${column}` });
    rows.set(column, { mark, value, row: s("g", { class: "mg-row" }, mark, value) });
  }
  const group = s("g", { class: `mg-node mg-kind-${kind}`, "data-node": node.id, tabindex: "-1", role: "button" },
    rim(4, "mg-halo"), rim(0, "mg-card"), heading,
    small && s("text", { x, y: top + HEAD + 7, class: "mg-caption" }, small),
    columns.length && s("path", { d: `M${left + 1} ${body - 1}h${w - 2}`, class: "mg-rule" }),
    [...rows.values()].map((r) => r.row));
  return { group, heading, rows, room: w - 12, left: left + SIDE, top: body };
}

// ---- the table --------------------------------------------------------------------------------------------------------------------------
function drawTable(trace, t, jumpTo) {
  const { nodes, columns, steps } = trace, rows = new Map(), body = h("tbody");
  let marked = [];
  for (const node of nodes) {
    const cells = new Map(columns.map((c) => [c.key, h("td", { class: `mg-num mg-c-${c.key}`, "data-col": c.key })]));
    const small = captionOf(node), kind = ["input", "const", "param"].includes(node.kind) ? t(node.kind) : String(node.op ?? "");
    const button = { type: "button", class: "mg-jump", tabindex: "-1", "aria-label": nodeName(node), title: t("press") };
    const jump = h("button", { ...button, onclick: () => jumpTo(node.id) }, math([{ t: "sym", ...labelOf(node), node: node.id }]));
    const row = h("tr", { "data-node": node.id },
      h("th", { scope: "row" }, jump, small && h("small", null, small)),
      h("td", { class: "mg-made" }, node.expr?.length ? math(node.expr) : kind),
      ...cells.values());
    rows.set(node.id, { row, cells });
    body.append(row);
  }
  body.addEventListener("click", (event) => {
    const id = event.target.closest("button") ? null : nodeAt(event.target);
    if (id) jumpTo(id);
  });

  // Room for the widest value of each column from the start, so that the table does not move while it fills.
  const widest = new Map(columns.map((c) => [c.key, 6]));
  for (const step of steps)
    for (const [, column, value] of step.writes ?? []) widest.set(column, Math.max(widest.get(column), Array.from(short(value)).length));
  const heads = columns.map((c) => h("th", { scope: "col", class: `mg-num mg-c-${c.key}`, "data-col": c.key },
    columnName(c, t), " ", columnMark(c.key), h("i", { class: "mg-reserve", "aria-hidden": "true" }, "0".repeat(widest.get(c.key)))));
  const head = h("thead", null, h("tr", null, h("th", { scope: "col" }, t("node")), h("th", { scope: "col" }, t("made")), heads));
  const table = h("table", { class: "mg-table" }, h("caption", null, t("table")), head, body);
  const box = h("div", { class: "mg-scroll mg-tablebox", tabindex: "0", role: "group", "aria-label": t("table") }, table);

  return {
    box,
    update(step, state) {
      for (const element of marked) element.classList.remove("mg-read", "mg-write", "mg-active");
      marked = [];
      for (const [id, { cells }] of rows)
        for (const [column, cell] of cells) {
          const value = state.get(key(id, column));
          if (setText(cell, short(value))) cell.title = value === undefined ? "" : full(value);
        }
      if (!step) return;
      const mark = (kind) => ([id, column]) => {
        marked.push(rows.get(id).cells.get(column));
        marked.at(-1).classList.add(kind);
      };
      (step.reads ?? []).forEach(mark("mg-read"));
      (step.writes ?? []).forEach(mark("mg-write"));
      marked.push(rows.get(step.node).row);
      marked.at(-1).classList.add("mg-active");
    },
    show(shown) {
      for (const cell of table.querySelectorAll("[data-col]")) cell.hidden = !shown.has(cell.dataset.col);
    },
    width() {
      table.style.width = "max-content";
      const needs = table.offsetWidth + 2;
      table.style.width = "";
      return needs;
    },
    follow(id, smooth) {
      const row = rows.get(id)?.row;
      if (!row) return;
      const above = row.offsetTop - head.offsetHeight < box.scrollTop;
      const below = row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight;
      if (above || below) box.scrollTo({ top: row.offsetTop - box.clientHeight / 2, behavior: motion(smooth) });
    },
  };
}

// ---- the source -------------------------------------------------------------------------------------------------------------------------
function drawSource(trace, t) {
  if (typeof trace.source?.code !== "string") return null;
  const code = trace.source.code.replace(/\n+$/, ""), lines = code.split("\n"), text = h("code"), first = trace.source.first_line ?? 1;
  const spans = new Map(trace.nodes.map((node) => [node.id, node.span]));
  // Lines count from 1; columns count characters, of which some take two places in a JavaScript string.
  const offset = (line, column) => {
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    return before + Array.from(lines[line - 1] ?? "").slice(0, column).join("").length;
  };
  const file = trace.source.filename ? h("small", null, String(trace.source.filename)) : null;
  const gutter = h("pre", { class: "mg-gutter", "aria-hidden": "true" }, lines.map((_, i) => first + i).join("\n"));
  const scroll = h("div", { class: "mg-scroll", tabindex: "0", role: "group", "aria-label": t("source") }, gutter, h("pre", null, text));
  return {
    box: h("figure", { class: "mg-box mg-source" }, h("figcaption", null, h("span", null, t("source")), file), scroll),
    light(id, line) {
      const span = spans.get(id) ?? (line ? [line, 0, line, Infinity] : null);
      if (!span) return text.replaceChildren(code);
      const from = offset(span[0], span[1]), to = Math.max(from, offset(span[2], span[3]));
      text.replaceChildren(code.slice(0, from), h("mark", null, code.slice(from, to)), code.slice(to));
    },
  };
}

// ---- what happens in this step ----------------------------------------------------------------------------------------------------------
function drawPanel(trace, t, stateAt) {
  const { steps } = trace, n = steps.length;
  const badge = h("span", { class: "mg-badge" }), formula = h("div", { class: "mg-formula" }), sums = h("div", { class: "mg-sums" });
  const say = h("p", { class: "mg-say", role: "status", "aria-live": "polite" });
  const box = h("div", { class: "mg-now" }, h("div", { class: "mg-equation" }, badge, formula, sums), say);
  let measuredAt = 0;

  // Everything but the sentence, which is announced when it changes; that is returned.
  function fill(k, state) {
    const step = k > 0 ? steps[k - 1] : null;
    badge.textContent = step ? t(step.phase) : "";
    formula.replaceChildren(...(step ? equation(step.formula ?? []) : []));
    sums.replaceChildren(...(step ? arithmetic(step, state).map((tokens) => h("span", { class: "mg-sum" }, math(tokens))) : []));
    return step ? String(step.say ?? "") : n ? t("ready", { n }) : t("empty");
  }
  const length = (step) => JSON.stringify(step.formula ?? []).length + 3 * String(step.say ?? "").length;
  const byLength = steps.map((step, i) => [length(step), i + 1]).sort((a, b) => b[0] - a[0]);
  const longest = byLength.slice(0, 24).map(([, k]) => k);

  return {
    box, say,
    update(k, state) {
      setText(say, fill(k, state));
      if (formula.scrollWidth > formula.clientWidth) formula.setAttribute("tabindex", "0"); // what scrolls must be reachable by keys
      else formula.removeAttribute("tabindex");
    },
    // The panel gets the height of the tallest step (of the longest two dozen) at this width, so that what is below never moves.
    reserve(root, k) {
      if (root.clientWidth === measuredAt) return;
      measuredAt = root.clientWidth;
      const now = root.dataset.now, spoken = say.textContent;
      let tallest = 0;
      box.style.minHeight = "";
      root.dataset.now = "v";
      for (const one of longest) {
        say.textContent = fill(one, stateAt(one));
        tallest = Math.max(tallest, Math.ceil(box.getBoundingClientRect().height));
      }
      root.dataset.now = now;
      box.style.minHeight = `${tallest}px`;
      fill(k, stateAt(k));
      say.textContent = spoken;
    },
  };
}

// ---- the controls -----------------------------------------------------------------------------------------------------------------------
const HELP = [["← →", "keyStep"], ["⇧ ← →", "keyShift"], ["Home End", "keyEnds"], ["PgUp PgDn", "keyPhase"], ["Space", "keyPlay"],
  ["← → ↑ ↓", "keyWalk"], ["Enter", "keyEnter"], ["?", "keyHelp"], ["Esc", "keyEsc"]];

// actions: move(k), by(steps), play(), setSpeed(v), showColumn(key, on), showSource(on) or null, explain(on)
function drawControls(trace, t, id, firstOf, actions) {
  const { columns, steps } = trace, n = steps.length;
  const buttons = {
    first: iconButton("first", t, () => actions.move(0)), back: iconButton("back", t, () => actions.by(-1)),
    play: iconButton("play", t, actions.play),
    next: iconButton("next", t, () => actions.by(1)), last: iconButton("last", t, () => actions.move(n)),
  };
  const range = { type: "range", min: 0, max: n, value: 0, step: 1, class: "mg-slider", "aria-label": t("slider") };
  const slider = h("input", { ...range, oninput: () => actions.move(Number(slider.value)) });
  const counter = h("span", { class: "mg-counter" });
  const rate = { class: "mg-speed", "aria-label": t("speed"), title: t("speed") };
  const speed = h("select", { ...rate, onchange: () => actions.setSpeed(Number(speed.value)) },
    [0.5, 1, 2, 4].map((v) => h("option", { value: v, selected: v === 1 }, `${v}×`)));

  const chip = (c) => {
    const attributes = { type: "button", class: `mg-chip mg-chip-${c.key}`, "data-col": c.key };
    return h("button", { ...attributes, onclick: () => actions.move(firstOf.get(c.key)) }, columnMark(c.key), columnName(c, t));
  };
  const chips = columns.filter((c) => firstOf.has(c.key)).map(chip);

  const check = (label, act) => {
    const input = h("input", { type: "checkbox", checked: true, onchange: () => act(input.checked) });
    return h("label", null, input, h("span", null, label));
  };
  const menu = h("details", { class: "mg-menu" },
    h("summary", { class: "mg-btn", "aria-label": t("view"), title: t("view") }, icon("view")),
    h("div", { class: "mg-popup" },
      columns.map((c) => check(columnName(c, t), (on) => actions.showColumn(c.key, on))),
      check(t("explain"), actions.explain), actions.showSource && check(t("source"), actions.showSource)));

  const keys = HELP.map(([names, what]) => [h("dt", null, names.split(" ").map((name) => h("kbd", null, name))), h("dd", null, t(what))]);
  const help = h("div", { class: "mg-help", id, hidden: true }, h("p", null, t("keys")), h("dl", null, keys));
  const opener = { type: "button", class: "mg-btn", "aria-label": t("help"), title: t("help") };
  const helpButton = h("button", { ...opener, "aria-expanded": "false", "aria-controls": id, onclick: () => toggleHelp() }, "?");
  function toggleHelp(on = help.hidden) {
    help.hidden = !on;
    helpButton.setAttribute("aria-expanded", String(on));
  }

  // A lane for each column under the slider: which pass is at work when, told by position as well as by colour.
  const lanes = columns.map((c, lane) => {
    const d = steps.map((step, i) => (columnOf(step) === c.key ? `M${i} ${lane * 5}h1v3.4h-1z` : "")).join("");
    return s("path", { d, class: `mg-c-${c.key}` });
  });
  const area = { viewBox: `0 0 ${Math.max(1, n)} ${Math.max(1, columns.length * 5)}`, preserveAspectRatio: "none" };
  const score = s("svg", { class: "mg-score", ...area, "aria-hidden": "true" }, lanes);

  return {
    slider, help, menu, helpButton, toggleHelp,
    chips: h("div", { class: "mg-chips", role: "group", "aria-label": t("phases") }, chips),
    bar: h("div", { class: "mg-bar", role: "group", "aria-label": t("playback") },
      h("div", { class: "mg-transport" }, Object.values(buttons)), h("div", { class: "mg-timeline" }, slider, score),
      counter, speed, menu, helpButton),
    update(k, now, sentence) {
      for (const [name, end] of [["first", 0], ["back", 0], ["next", n], ["last", n]]) {
        if (k === end) buttons[name].setAttribute("aria-disabled", "true");
        else buttons[name].removeAttribute("aria-disabled");
      }
      slider.value = k;
      slider.style.setProperty("--mg-at", n ? k / n : 0);
      slider.setAttribute("aria-valuetext", k ? t("say", { k, n, phase: t(steps[k - 1].phase), say: sentence }) : sentence);
      counter.textContent = t("counter", { k, n });
      for (const one of chips) {
        if (one.dataset.col === now) one.setAttribute("aria-current", "step");
        else one.removeAttribute("aria-current");
      }
    },
    playing(on) {
      const name = on ? "pause" : "play";
      buttons.play.replaceChildren(icon(name));
      buttons.play.setAttribute("aria-label", t(name));
      buttons.play.title = t(name);
    },
  };
}

// ---- everything together: the clock that all views follow, linked highlighting, keys ----------------------------------------------------
function show(el, trace, options, t) {
  const { columns, steps } = trace, n = steps.length, stateAt = folder(steps), shown = new Set(columns.map((c) => c.key));
  const firstOf = new Map(); // column key -> number of its first step
  steps.forEach((step, i) => firstOf.has(columnOf(step)) || firstOf.set(columnOf(step), i + 1));
  const marks = [...new Set([0, ...firstOf.values(), n])].sort((a, b) => a - b);
  let k = 0, timer = null, speed = 1, hovered = null;

  const graph = trace.layout ? drawGraph(trace, t) : null;
  const table = drawTable(trace, t, jumpTo), source = drawSource(trace, t), panel = drawPanel(trace, t, stateAt);
  const controls = drawControls(trace, t, `mg-help-${++count}`, firstOf, {
    move, play, by: (d) => move(k + d), setSpeed: (v) => { speed = v; }, explain: (on) => root.classList.toggle("mg-terse", !on),
    showSource: source && ((on) => { source.box.hidden = !on; }),
    showColumn(column, on) {
      shown[on ? "add" : "delete"](column);
      table.show(shown);
      graph?.arrange(shown);
    },
  });
  const title = String(trace.title || t("untitled"));
  const main = h("div", { class: "mg-main" },
    h("div", { class: "mg-left" }, graph ? graph.box : h("p", { class: "mg-note" }, t("noLayout"))),
    h("div", { class: "mg-right" }, source?.box, table.box));
  const region = { class: "mg-root", tabindex: "-1", "aria-label": t("viewer", { title }) };
  const manner = { lang: options.lang ?? "en", "data-theme": options.theme };
  const quiet = { "data-lm-suppress-shortcuts": "true" }; // Jupyter's own keys rest while the focus is inside such an element
  const root = h("section", { ...region, ...manner, ...quiet },
    h("div", { class: "mg-top" }, h(options.heading ? "h1" : "p", { class: "mg-title" }, title), controls.chips),
    controls.bar, controls.help, panel.box, main);

  // Graph above the table instead of beside it, where the graph is long or the table's values are wide.
  function arrange() {
    if (!root.clientWidth) return; // not on the page yet, or hidden: the observer calls again
    panel.reserve(root, k);
    const right = (root.clientWidth - 52) / 2.45, { width, height } = trace.layout ?? { width: 0, height: 1 };
    main.classList.toggle("mg-wide", table.width() > Math.max(300, right) || (width > 2.6 * height && width > 1.6 * right));
    graph?.fit();
    graph?.arrange(shown);
    follow(false);
  }
  function follow(smooth) {
    graph?.follow(steps[k - 1]?.node, smooth);
    table.follow(steps[k - 1]?.node, smooth);
  }
  function draw(smooth) {
    const step = k > 0 ? steps[k - 1] : null, state = stateAt(k), now = step ? columnOf(step) : "";
    root.dataset.now = now;
    root.dataset.phase = step?.phase ?? "";
    graph?.update(step, state);
    table.update(step, state);
    panel.update(k, state);
    controls.update(k, now, panel.say.textContent);
    lightSource();
    follow(smooth);
  }
  const lightSource = () => source?.light(hovered ?? steps[k - 1]?.node, hovered ? null : steps[k - 1]?.line);

  // -- moving. go: by the program; advance: by the reader or the player, and told to the host; move: by the reader, who stops the player
  function go(to, smooth = true) {
    k = Math.min(n, Math.max(0, Math.round(Number(to) || 0)));
    try {
      draw(smooth);
    } catch (error) {
      destroy();
      failure(el, t, `${error?.name ?? "Error"}: ${error?.message ?? error}`, options);
    }
    return k;
  }
  function advance(to) {
    const was = k;
    if (go(to) !== was) options.onStep?.(k);
  }
  function move(to) {
    stop();
    advance(to);
  }
  function play() {
    if (timer !== null) return stop();
    if (k >= n) advance(0);
    const tick = () => {
      advance(k + 1);
      timer = setTimeout(k < n ? tick : stop, k < n ? 1000 / speed : 0);
    };
    timer = setTimeout(tick, 350 / speed);
    announce(true);
  }
  function stop() {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    announce(false);
  }
  function announce(playing) {
    controls.playing(playing);
    panel.say.setAttribute("aria-live", playing ? "off" : "polite"); // a step a second is too much to be read aloud
  }
  function jumpTo(id) {
    const touches = (step) => step.node === id || (step.writes ?? []).some(([node]) => node === id);
    for (let i = 0; i < n; i++) if (touches(steps[(k + i) % n])) return move(((k + i) % n) + 1);
  }

  // -- linked highlighting
  function hover(id) {
    if (hovered === id) return;
    hovered = id;
    for (const e of root.querySelectorAll(".mg-hover")) e.classList.remove("mg-hover");
    for (const e of id === null ? [] : root.querySelectorAll("[data-node]")) e.classList.toggle("mg-hover", e.dataset.node === id);
    lightSource();
  }
  root.addEventListener("pointerover", (e) => hover(nodeAt(e.target)));
  root.addEventListener("pointerleave", () => hover(null));
  root.addEventListener("focusin", (e) => {
    hover(nodeAt(e.target));
    if (graph?.svg.contains(e.target)) graph.rove(nodeAt(e.target));
  });
  root.addEventListener("focusout", (e) => {
    if (root.contains(e.relatedTarget)) return;
    hover(null);
    controls.menu.open = false;
  });
  graph?.svg.addEventListener("click", (e) => {
    const id = nodeAt(e.target);
    if (!id) return;
    jumpTo(id);
    graph.cards.get(id).group.focus({ preventScroll: true });
  });

  // -- keys, only with the focus inside
  function leave() {
    if (!controls.help.hidden) {
      controls.toggleHelp(false);
      controls.helpButton.focus();
    } else if (controls.menu.open) {
      controls.menu.open = false;
      controls.menu.querySelector("summary").focus();
    } else document.activeElement?.blur?.();
  }
  // What a key does here, as a function; null leaves it to the browser.
  function action(e) {
    const kind = e.target.tagName === "INPUT" ? e.target.type : e.target.tagName;
    const node = graph?.svg.contains(e.target) ? nodeAt(e.target) : null;
    const arrow = e.key.startsWith("Arrow");
    if (e.key === "Escape") return leave;
    if (e.key === "?") return () => controls.toggleHelp();
    if (kind === "SELECT") return null;
    if (node && arrow && !e.shiftKey) return () => graph.walk(node, e.key);
    if (node && (e.key === "Enter" || e.key === " ")) return () => jumpTo(node);
    if (e.key === " ") return ["BUTTON", "SUMMARY", "checkbox"].includes(kind) ? null : play;
    const before = marks.filter((v) => v < k).at(-1) ?? 0, after = marks.find((v) => v > k) ?? n;
    const to = { ArrowLeft: k - 1, ArrowRight: k + 1, Home: 0, End: n, PageUp: before, PageDown: after }[e.key];
    if (to !== undefined) return () => move(to);
    return kind === "range" && arrow ? () => {} : null; // Up and Down would move the slider's thumb unannounced
  }
  root.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
    const act = action(e);
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  });

  // -- paper shows the end
  let printed = 0;
  const beforePrint = () => { printed = k; go(n, false); };
  const afterPrint = () => go(printed, false);
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);

  const watcher = new ResizeObserver(arrange);
  function destroy() {
    stop();
    watcher.disconnect();
    window.removeEventListener("beforeprint", beforePrint);
    window.removeEventListener("afterprint", afterPrint);
    root.remove();
  }
  el.replaceChildren(root);
  table.show(shown);
  go(options.step ?? 0, false);
  watcher.observe(root);
  arrange();
  return { go, root, length: n, step: () => k, destroy };
}

// ---- anywidget: JupyterLab, Notebook 7 and everything else that speaks its protocol -----------------------------------------------------
function render({ model, el }) {
  let viewer = null;
  function start() {
    viewer?.destroy();
    viewer = mount(el, model.get("trace"), { step: model.get("step"), onStep });
  }
  function onStep(k) {
    model.set("step", k);
    try {
      model.save_changes();
    } catch {
      // no kernel: the picture still steps
    }
  }
  const follow = () => viewer.step() !== model.get("step") && viewer.go(model.get("step"));
  start();
  model.on("change:trace", start);
  model.on("change:step", follow);
  return () => {
    model.off("change:trace", start);
    model.off("change:step", follow);
    viewer.destroy();
  };
}

export default { render };
