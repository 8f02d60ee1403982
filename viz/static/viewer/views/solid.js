// A product of matrices as a solid: the result is its front, the left factor its right side, the
// right factor its top. An element of one of them is a sum of products along a line through the
// solid, which begins at the element and ends on the face across; the row and the column that meet
// there lie on the other two. So the two rules of the reverse pass are the same solid, seen from
// its other sides.

import { s } from "../dom.js";
import { levelOf, scaleOf } from "../arrays.js";
import { elementAt } from "./meeting.js";
import { symbolText } from "./maps.js";

const MOST_LAYERS = 24, // rows, columns and layers of a solid that is drawn
  FRONT_SIDE = 240, // pixels
  DEEP = [150, 105],
  SOLID_RIM = 26;

// Which variable of the loop runs along each axis of an array; null where an index is no single
// variable.
export function variablesOf(index) {
  const simple = index.every(([offset, ...vs]) => !offset && vs.length === 1 && vs[0][1] === 1);
  return simple ? index.map(([, [v]]) => v) : null;
}

// parts: for each array {number, node, array, column, index}, number -1 being the result; sums: the
// arrays that meet in `place` of the array `target`. Null for any other operation.
export function drawSolid(sizes, parts, target, place, lit) {
  const known = parts.map((part) => ({ ...part, along: variablesOf(part.index) }));
  const front = known.find(({ number }) => number < 0);
  if (known.length !== 3 || known.some(({ along }) => along?.length !== 2)) return null;
  const [row, column] = front.along,
    side = known.find((part) => part !== front && part.along.includes(row)),
    top = known.find((part) => part !== front && part.along.includes(column));
  const layer = side?.along.find((v) => v !== row);
  if (!side || !top || side === top || !top.along.includes(layer)) return null;
  const counts = [row, column, layer].map((v) => sizes[v]);
  if (Math.max(...counts) > MOST_LAYERS) return null;
  const at = projected(counts);
  const corners = {
    front: (i, j) => [at(i, j, 0), at(i, j + 1, 0), at(i + 1, j + 1, 0), at(i + 1, j, 0)],
    top: (i, j, k) => [at(0, j, k), at(0, j + 1, k), at(0, j + 1, k + 1), at(0, j, k + 1)],
    side: (i, j, k) => {
      const x = counts[1];
      return [at(i, x, k), at(i, x, k + 1), at(i + 1, x, k + 1), at(i + 1, x, k)];
    },
  };
  const faceOf = (part, name) => {
    const scale = scaleOf(part.array.elements),
      cells = placesIn(part.array.shape).map((where) => {
        const point = [row, column, layer].map((v) => where[part.along.indexOf(v)] ?? 0);
        const mark = lit.get(part.number)?.has(String(where)) ? " mg-met" : "",
          path = `M${corners[name](...point).join("L")}z`,
          level = levelOf(elementAt(part.array, where), scale);
        return s("path", {
          d: path,
          class: `mg-h${level}${mark}`,
          "data-at": part.number === target ? where : null,
        });
      });
    const isLit = (cell) => cell.classList.contains("mg-met"); // drawn last, with a whole outline
    return s(
      "g",
      { class: "mg-heat" },
      [...cells].sort((a, b) => isLit(a) - isLit(b)),
    );
  };
  const written = known.find(({ number }) => number === target),
    point = [row, column, layer].map((v) => place[written.along.indexOf(v)]);
  const frame = frameOf(at, counts);
  const solid = s(
    "svg",
    { ...frame, class: "mg-solid", "aria-hidden": "true" },
    faceOf(top, "top"),
    faceOf(side, "side"),
    faceOf(front, "front"),
    beam(at, counts, point),
    faceName(front, at(counts[0], counts[1] / 2, 0), [0, 18]),
    faceName(top, at(0, counts[1] / 2, counts[2]), [0, -8]),
    faceName(side, at(counts[0] / 2, counts[1], counts[2]), [14, 4]),
  );
  solid.style.setProperty("--mg-whole", `${frame.width}px`);
  return solid;
}

const placesIn = ([rows, wide]) =>
  Array.from({ length: rows * wide }, (_, n) => [Math.floor(n / wide), n % wide]);

function projected([rows, wide, layers]) {
  const cell = Math.min(34, FRONT_SIDE / Math.max(rows, wide)),
    deep = DEEP.map((most, axis) => Math.min([22, 15][axis], most / layers));
  return (i, j, k) => [
    Math.round(10 * (SOLID_RIM + j * cell + k * deep[0])) / 10,
    Math.round(10 * (SOLID_RIM + layers * deep[1] + i * cell - k * deep[1])) / 10,
  ];
}

function frameOf(at, [rows, wide, layers]) {
  const [width] = at(0, wide, layers),
    [, height] = at(rows, 0, 0);
  const box = [width + 2 * SOLID_RIM, height + SOLID_RIM];
  return { width: box[0], height: box[1], viewBox: `0 0 ${box.join(" ")}` };
}

// The products: points on a line along the variable that the written array does not have.
function beam(at, counts, point) {
  const free = point.indexOf(undefined),
    centre = (n) => at(...point.map((p, axis) => (axis === free ? n : p + 0.5)));
  const ends = `M${centre(0)}L${centre(counts[free])}`;
  const dots = Array.from({ length: counts[free] }, (_, n) => {
    const [cx, cy] = centre(n + 0.5);
    return s("circle", { cx, cy, r: 3 });
  });
  return s("g", { class: "mg-beam" }, s("path", { d: ends }), dots);
}

const faceName = ({ node, column }, [x, y], [dx, dy]) =>
  s("text", { x: x + dx, y: y + dy, class: `mg-c-${column}` }, symbolText(node, column));
