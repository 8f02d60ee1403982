// The graph as it stands, as a picture of its own: SVG with the looks written into it, and PNG.

import { s } from "./dom.js";
import { honest, runs, svgRuns } from "./formulas.js";

const LOOKS = [
  ...["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity"],
  ...["font-family", "font-size", "font-style", "font-weight", "text-anchor", "text-decoration"],
  ...["display", "visibility", "paint-order"],
];
const SHARP = 2; // pixels of a PNG to a unit

function dressed(from, to) {
  const look = getComputedStyle(from);
  // attributes, since a page's policy forbids styles on elements
  for (const name of LOOKS) to.setAttribute(name, look.getPropertyValue(name));
  for (const name of ["class", "style"]) to.removeAttribute(name);
  [...from.children].forEach((child, i) => dressed(child, to.children[i]));
}

// The SVG element's picture, with a title, a formula (tokens) and a sentence below it, as text;
// ground: its colour.
export function pictureOf(svg, title, formula, sentence, ground, ink) {
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number),
    copy = svg.cloneNode(true),
    faint = [...svg.querySelectorAll(".mg-cut")], // at the edges of the stage; here all are whole
    cut = (on) => faint.forEach((card) => card.classList.toggle("mg-cut", on));
  cut(false);
  dressed(svg, copy);
  cut(true);
  let tall = height + 4;
  function write(content, size, family) {
    tall += 1.5 * size;
    const look = { fill: ink, "font-family": family, "font-size": `${size}px` };
    copy.append(s("text", { x: 18, y: tall, ...look }, content));
  }
  const letters = (width - 36) / (/[^\0-\u2fff]/.test(title + sentence) ? 14 : 7.2),
    line = `.{1,${Math.max(8, Math.floor(letters))}}`,
    lines = new RegExp(`${line}(?= |$)|${line}`, "gu");
  const say = (text) =>
    [...text.replace(/\s+/g, " ").matchAll(lines)].forEach(([one]) =>
      write(one.trim(), 14, "system-ui, sans-serif"),
    );
  say(title);
  const told = svgRuns(runs(honest(formula))).map(plainRun);
  if (told.length) write(told, 19, "STIX Two Math, serif");
  say(sentence);
  tall += 14;
  const size = { width, height: tall, viewBox: `0 0 ${width} ${tall}` };
  for (const [name, value] of Object.entries(size)) copy.setAttribute(name, value);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.prepend(s("rect", { width, height: tall, fill: ground }));
  return new XMLSerializer().serializeToString(copy);
}

// A run of mathematics whose looks are attributes, not classes.
function plainRun(run) {
  for (const [name, [attribute, value]] of Object.entries(RUN_LOOKS))
    if (run.classList.contains(name)) run.setAttribute(attribute, value);
  run.removeAttribute("class");
  return run;
}
const RUN_LOOKS = {
  "mg-i": ["font-style", "italic"],
  "mg-small": ["font-size", "0.72em"],
  "mg-overline": ["text-decoration", "overline"],
};

const dataOf = (text) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;

function saved(href, name) {
  const link = document.createElement("a");
  Object.assign(link, { href, download: name });
  link.click();
}

async function canvasOf(text) {
  const image = new Image();
  image.src = dataOf(text);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SHARP * image.naturalWidth;
  canvas.height = SHARP * image.naturalHeight;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

// Hands the reader a picture: kind "svg" or "png" as a file of this name, "copy" as a PNG on the
// clipboard. Rejects where the page may not write to the clipboard.
export async function savePicture(text, name, kind) {
  if (kind === "svg") return saved(dataOf(text), `${name}.svg`);
  if (kind === "png") return saved((await canvasOf(text)).toDataURL("image/png"), `${name}.png`);
  // the picture as a promise: Safari allows the clipboard only while the click is handled
  const png = canvasOf(text).then((canvas) => new Promise((made) => canvas.toBlob(made)));
  return navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
}
