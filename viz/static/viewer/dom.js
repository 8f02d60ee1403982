// Building elements. All text enters the page as text nodes.

const SPACES = { svg: "http://www.w3.org/2000/svg", math: "http://www.w3.org/1998/Math/MathML" };

function build(space, tag, attributes, children) {
  const el = space ? document.createElementNS(SPACES[space], tag) : document.createElement(tag);
  if (tag === "button") el.type = tag; // else it would send a form
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  el.append(...children.flat(Infinity).filter(Boolean));
  return el;
}
export const h = (tag, attributes, ...children) => build(null, tag, attributes, children);
export const s = (tag, attributes, ...children) => build("svg", tag, attributes, children);
export const m = (tag, attributes, ...children) => build("math", tag, attributes, children);

export const note = (...said) => h("p", { class: "mg-note" }, said);
// What is read aloud where it changes.
export const announced = () => h("p", { class: "mg-sumup", role: "status" });

// The head of a table, a row of cells.
export const tableHead = (...cells) => h("thead", null, h("tr", null, cells));

const ICONS = {
  first: "M6 5v14M19 5l-9 7 9 7z",
  back: "M15.5 5l-8.5 7 8.5 7",
  play: "M8 5l11 7-11 7z",
  pause: "M8.5 5v14M15.5 5v14",
  next: "M8.5 5l8.5 7-8.5 7",
  last: "M18 5v14M5 5l9 7-9 7z",
  view: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4.5v5M8 14.5v5",
  zoomIn: "M12 6v12M6 12h12",
  zoomOut: "M6 12h12",
  shut: "M6 6l12 12M18 6L6 18",
  stage: "M4 5h16v11H4zM12 16v4M8 20h8",
  fit: "M4 9V5h5M20 9V5h-5M4 15v4h5M20 15v4h-5",
};
export const icon = (name) =>
  s(
    "svg",
    { viewBox: "0 0 24 24", class: `mg-icon mg-icon-${name}`, "aria-hidden": "true" },
    s("path", { d: ICONS[name] }),
  );

export const iconButton = (id, t, onclick) =>
  h(
    "button",
    { class: `mg-btn mg-btn-${id}`, "aria-label": t(id), title: t(id), onclick },
    icon(id),
  );

const waiting = new Set();
// Runs, once, what reads the layout, when the present task has drawn everything: a browser lays a
// page out again for each reading that comes after a change.
export function onceDrawn(work) {
  if (!waiting.size)
    queueMicrotask(() => {
      const all = [...waiting];
      waiting.clear();
      for (const one of all) one();
    });
  waiting.add(work);
}

// A text in which no line ends within a shape.
export const unbroken = (text) =>
  text
    .split(/(\([\d, ]+\))/)
    .map((part, i) => (i % 2 ? h("span", { class: "mg-unbroken" }, part) : part));

export function setText(element, text) {
  if (element.textContent === text) return false;
  element.textContent = text;
  return true;
}

export function listenWheel(element, handler) {
  element.addEventListener("wheel", (event) => {
    // plain turning scrolls; with Ctrl, and by pinching a touchpad, it zooms
    if (!event.ctrlKey) return;
    event.preventDefault();
    handler(event.deltaY);
  });
}

// Two fingers apart or together: the change of their distance as a factor.
export function listenPinch(element, handler) {
  const fingers = new Map();
  const apart = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  element.addEventListener(
    "pointerdown",
    (event) =>
      event.pointerType === "touch" &&
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY }),
  );
  for (const end of ["pointerup", "pointercancel"])
    element.addEventListener(end, (event) => fingers.delete(event.pointerId));
  element.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = fingers.size === 2 ? apart() : 0;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (before > 0) handler(apart() / before);
  });
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const motion = (smooth) => (smooth && !still() ? "smooth" : "instant");
export const nodeAt = (target) =>
  target?.closest?.("[data-node]")?.getAttribute("data-node") ?? null;

