// One element of a product of matrices, a convolution or a pooling: the reader points at it and
// sees which elements meet in it, their products and the sum; in the reverse pass, which shares an
// element of an operand receives.

import { chooseEntry, placesOf, scaleOf } from "../arrays.js";
import { h, note } from "../dom.js";
import { nodesOf } from "../fold.js";
import { columnName } from "../formulas.js";
import { shapeText } from "../array_text.js";
import { short } from "../numbers.js";
import { inLanguage } from "../texts.js";
import { arraysView } from "./arrays.js";
import { fitterOf } from "./grown.js";
import {
  cellTable,
  frameAbout,
  leadingOf,
  leadingPlaces,
  samePlace,
  sliceOf,
  symbolText,
  thumb,
} from "./maps.js";
import {
  arraysOf,
  elementCount,
  elementsOf,
  meetingOf,
  partAround,
  placesOfPart,
} from "./meeting.js";
import { drawSolid, variablesOf } from "./solid.js";
import { sumText, sumsAt } from "./sum_text.js";

const MEETING_WORDS = {
  point: {
    en: "Point at an element, or move with the arrow keys.",
    zh: "指向一个元素，或用方向键移动。",
  },
  none: {
    en: "No elements meet in this step. Steps of products, convolutions, poolings and sums:",
    zh: "这一步没有元素相乘或相加。乘积、卷积、池化与求和的步骤：",
  },
  missing: {
    en: "The arrays of this step are too large: the trace does not hold every element.",
    zh: "这一步的数组太大：记录中没有全部元素。",
  },
  complex: {
    en: "This picture is of real numbers; the arrays here are complex.",
    zh: "此图只用于实数；这里的数组是复数。",
  },
  outside: { en: "{n} positions lie in the padding.", zh: "有 {n} 个位置在填充区。" },
  first: { en: "The first {n} of {all} products.", zh: "前 {n} 个乘积，共 {all} 个。" },
  more: { en: "and {n} further maps", zh: "另有 {n} 个特征图" },
  block: {
    en: "Rows {top} to {bottom}, columns {left} to {right} of {shape}.",
    zh: "{shape} 中的第 {top} 至 {bottom} 行、第 {left} 至 {right} 列。",
  },
  stretch: {
    en: "Elements {left} to {right} of {shape}.",
    zh: "{shape} 中的第 {left} 至 {right} 个元素。",
  },
};
const MOST_MAPS = 4, // of an array that is read
  MOST_THUMBS = 64,
  FEW_THUMBS = 8,
  FEW_CELLS = 16, // that hold their numbers where larger maps do not
  ROWS_SHOWN = 12, // rows and columns of products
  TERMS_IN_LINE = 10; // products written in a line

// Products in the order of the loop: rows, and columns along the last variable that varies.
function productRows(products, valueOf) {
  const varies = products[0]?.point.map((_, v) =>
      products.some((p) => p.point[v] !== products[0].point[v]),
    ),
    last = varies?.lastIndexOf(true) ?? -1,
    first = varies?.indexOf(true) ?? -1;
  const inRowsOf = (nameOf) => {
    const rows = new Map();
    for (const one of products) {
      const name = String(nameOf(one.point));
      rows.set(name, [...(rows.get(name) ?? []), { value: valueOf(one), at: one.point, one }]);
    }
    return [...rows.values()];
  };
  const rows = inRowsOf((point) => point.filter((_, v) => v !== last));
  // where the last variable follows from the others, a row for each value of the first
  return rows.length === products.length ? inRowsOf((point) => point[first]) : rows;
}

// Which array is a row of the left factor and which a column of the right one, where a sum is a
// product of matrices: three loops, and each array in two of them. Null for any other.
function falk(meeting, arrays) {
  const { terms } = meeting.node,
    [sum] = meeting.sums,
    indices = new Map([[-1, terms.result], ...terms.operands.map((one, i) => [i, one])]),
    used = [-1, 0, 1];
  if (meeting.sums.length > 1 || terms.operands.length < 2 || terms.combine !== "sum") return null;
  const variables = (number) => {
    const found = variablesOf(indices.get(number));
    return found?.length === 2 ? found : null;
  };
  const known = new Map(used.map((number) => [number, variables(number)]));
  if ([...known.values()].includes(null) || meeting.target > 1) return null;
  const [row, column] = known.get(meeting.target),
    factors = used.filter((number) => number !== meeting.target),
    left = factors.find((number) => known.get(number).includes(row)),
    top = factors.find((number) => number !== left && known.get(number).includes(column));
  if (left === undefined || top === undefined) return null;
  const columnRead = (number) => (number < 0 ? sum.result : sum.read[number]);
  const part = (number, turned) => ({
    number,
    column: columnRead(number),
    turned,
    array: arrays.get(number),
  });
  return {
    left: part(left, known.get(left)[0] !== row),
    top: part(top, known.get(top)[1] !== column),
  };
}

const pointedAt = (event) => event.target.closest?.("[data-at]")?.dataset.at.split(",").map(Number);
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export const elementView = {
  name: "element",
  title: { en: "How one entry is made", zh: "一个元素如何算出" },
  width: 560, // two factors and their product
  ready: (trace) => trace.nodes.some((node) => node.terms),
  // Long: a closure, whose functions share these elements and the state.
  make(host) {
    const { trace, t, move, focus } = host;
    const say = (name, given = {}) =>
      inLanguage(MEETING_WORDS[name], t).replace(/\{(\w+)\}/g, (_, word) => given[word]);
    const byId = nodesOf(trace),
      edges = new Map(trace.edges.map((e) => [e.id, e])),
      columns = new Map(trace.columns.map((c) => [c.key, c]));
    const operandsOf = (node) =>
      node.terms.operands.map((_, slot) =>
        byId.get(trace.edges.find((e) => e.dst === node.id && e.slot === slot)?.src),
      );
    const isComplex = ({ node }) =>
      [node, ...operandsOf(node)].some((one) => one?.dtype?.startsWith("complex"));
    const box = h("div", { class: "mg-element" }),
      whole = arraysView.make(host); // where no elements meet
    const chosen = placesOf(host);
    let redraw = () => {},
      less = 0; // from 1 on: without numbers of what is read, of what is written; small; one map
    // How many cells of a map hold their numbers.
    const numbers = (isRead) => (less > (isRead ? 0 : 1) ? FEW_CELLS : Infinity);

    function headed(node, column, role, turned, ...body) {
      const name = symbolText(node, column) + (turned ? "ᵀ" : ""),
        said = [name, columnName(columns.get(column), t), t(role)],
        [n, m] = node.shape.slice(-2),
        shape = turned ? [...node.shape.slice(0, -2), m, n] : node.shape,
        apart = h("span", { class: "mg-apart" }, "\u00a0· "),
        head = [said.join("\u00a0· "), apart, shapeText(shape).replaceAll(" ", "\u00a0")];
      return h(
        "figure",
        {
          class: `mg-array mg-c-${column} mg-${role}`,
          "data-node": node.id,
          "data-column": column,
        },
        h("figcaption", { class: "mg-arrayhead" }, head),
        body,
      );
    }

    // What the reader did moves to another element of an array; the focus stays where it was.
    function choose(node, at) {
      if (!at || samePlace(at, chosen.get(node.id))) return;
      chooseEntry(host, node.id, at);
      redraw();
    }
    function keepFocus(render) {
      const held = box.querySelector(":focus")?.dataset.focus;
      render();
      if (held === undefined) return;
      const again = box.querySelector(`[data-focus="${held}"]`);
      if (again) again.focus({ preventScroll: true });
      else focus();
    }

    // The array that the step writes, whose elements can be chosen.
    function writtenMap({ node, array, column, place }) {
      const part = array.parts && partAround(array, [place]),
        cells = sliceOf(array, leadingOf(place), false, part),
        scale = scaleOf(elementsOf(array)),
        name = `${symbolText(node, column)}[${place.join(", ")}]`;
      const pointed = (event) => choose(node, pointedAt(event));
      function pressed(event) {
        const moved = ARROWS[event.key];
        if (!moved || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        const row = cells.findIndex((r) => r.some((c) => samePlace(c.at, place))),
          across = cells[row].findIndex((c) => samePlace(c.at, place));
        choose(node, cells[row + moved[0]]?.[across + moved[1]]?.at);
      }
      const board = h(
        "div",
        {
          class: "mg-board",
          ...{ tabindex: "0", role: "group", "aria-label": `${name}. ${say("point")}` },
          ...{ onpointerover: pointed, onclick: pointed, onkeydown: pressed },
          "data-focus": "board",
        },
        cellTable(
          cells,
          scale,
          new Map([[String(place), "mg-met mg-at"]]),
          name,
          numbers(false),
        ),
      );
      const thumbs = part ? blockNote(array, cells) : thumbsOf(node, array, place, scale);
      return headed(node, column, "written", false, thumbs, board);
    }
    // Which part of a large array is shown.
    function blockNote(array, cells) {
      const [first, last] = [cells[0][0].at, cells.at(-1).at(-1).at];
      const [top, left] = [first.at(-2), first.at(-1)],
        [bottom, right] = [last.at(-2), last.at(-1)];
      const given = { top, left, bottom, right, shape: shapeText(array.shape) };
      return note(say(top === undefined ? "stretch" : "block", given));
    }
    // All maps of an array in small, of which one is chosen.
    function thumbsOf(node, array, place, scale) {
      const places = leadingPlaces(array.shape);
      if (places.length < 2) return null;
      const button = (leading) => {
        const name = `[${leading.join(", ")}]`,
          isChosen = samePlace(leading, leadingOf(place));
        return h(
          "button",
          {
            ...{ class: "mg-thumb", "data-focus": name, title: name },
            ...{ "aria-label": name, "aria-pressed": String(isChosen) },
            onclick: () => choose(node, [...leading, ...place.slice(-2)]),
          },
          thumb(sliceOf(array, leading), scale),
        );
      };
      const chosenAt = places.findIndex((leading) => samePlace(leading, leadingOf(place))),
        [from, many] = less > 2 ? [chosenAt, FEW_THUMBS] : [0, MOST_THUMBS],
        first = Math.max(0, Math.min(from, places.length - many));
      return h("div", { class: "mg-thumbs" }, places.slice(first, first + many).map(button));
    }

    // An array that the step reads: the maps of it that take part.
    function readMaps({ node, array, column, places, turned }) {
      const maps = new Map(places.map((at) => [String(leadingOf(at)), leadingOf(at)]));
      if (!maps.size && array.parts) return headed(node, column, "read", turned);
      if (!maps.size) maps.set("", leadingPlaces(array.shape)[0]);
      const shown = [...maps.values()].slice(0, less > 3 ? 1 : MOST_MAPS),
        frame = places.length ? frameAbout(array, places) : null,
        scale = scaleOf(elementsOf(array)),
        lit = new Map(places.map((at) => [String(at), "mg-met"]));
      const part = (leading) => {
        const cells = sliceOf(array, leading, turned, frame),
          isCut = cells.length * cells[0].length < elementCount(array.shape.slice(-2));
        return [
          isCut && blockNote(array, cells),
          array.shape.length > 2 && note(`[${leading.join(", ")}]`),
          cellTable(cells, scale, lit, null, numbers(true)),
        ];
      };
      return headed(
        node,
        column,
        "read",
        turned,
        h(
          "div",
          { class: "mg-maps" },
          shown.map((leading) => h("div", null, part(leading))),
        ),
        maps.size > shown.length &&
          note(say("more", { n: maps.size - shown.length })),
      );
    }

    // The factors and their products as small tables, and the sum.
    function worked(sum, arrays) {
      const { products } = sum;
      if (!products.length) return null;
      const cut = (rows) => rows.slice(0, ROWS_SHOWN).map((row) => row.slice(0, ROWS_SHOWN));
      const tableOf = (valueOf, column, name) => {
        const rows = cut(productRows(products, valueOf)),
          lit = new Map(
            rows
              .flat()
              .filter(({ one }) => one.chosen)
              .map(({ at }) => [String(at), "mg-met"]),
          );
        return h(
          "div",
          { class: `mg-worked mg-c-${column}` },
          note(name),
          cellTable(rows, scaleOf(rows.flat().map((c) => c.value)), lit, name),
        );
      };
      const factors = products[0].factors,
        sign = (text) => h("span", { class: "mg-between", "aria-hidden": "true" }, text);
      const name = ({ number, column }) => symbolText(arrays.get(number).node, column);
      const tables = factors.flatMap((f, i) => [
        ...(i ? [sign("·")] : []),
        tableOf((one) => one.factors[i].value, f.column, name(f)),
      ]);
      if (factors.length > 1)
        tables.push(
          sign("="),
          tableOf((one) => one.value, "v", factors.map(name).join(" · ")),
        );
      const all = productRows(products, (one) => one.value),
        count = cut(all).flat().length;
      const notes = [
        count < products.length && say("first", { n: count, all: products.length }),
        sum.outside > 0 && say("outside", { n: sum.outside }),
      ];
      return h(
        "div",
        { class: "mg-workings" },
        tables,
        notes.filter(Boolean).map((text) => note(text)),
      );
    }

    function line(meeting, node, place, sums) {
      const name = `${symbolText(node, meeting.column)}[${place.join(", ")}]`,
        { body, total, note: behind } = sumText(meeting, sums, place, t, TERMS_IN_LINE);
      return `${name} = ${body && `${body} = `}${short(total)}${behind}`;
    }

    function missing(text) {
      const steps = trace.steps
        .map((step, i) => [meetingOf(step, byId, edges), step, i + 1])
        .filter(([found]) => found && !isComplex(found));
      const links = steps
        .slice(0, 24)
        .map(([found, step, k]) =>
          h(
            "button",
            { class: "mg-fold", onclick: () => move(k) },
            `${k}: ${symbolText(byId.get(step.node), found.column)}`,
          ),
        );
      box.replaceChildren(
        h("p", { class: "mg-sumup" }, links.length ? text : say("complex")),
        h("div", { class: "mg-picks" }, links),
        h("div", { class: "mg-instead" }, whole.box),
      );
    }

    // asked: what the step writes is in question yet
    function draw(step, state, asked) {
      const meeting = meetingOf(step, byId, edges);
      box.classList.toggle("mg-smallcells", less > 2);
      if (!meeting) return missing(say("none"));
      const arrays = arraysOf(meeting, state, operandsOf(meeting.node));
      const target = arrays?.get(meeting.target),
        shape = asked && target?.node.shape,
        array = shape
          ? { shape, elements: Array(elementCount(shape)).fill("?") }
          : target?.[meeting.column];
      if (isComplex(meeting)) return missing(say("complex"));
      if (!array) return missing(say("missing"));
      const before = chosen.get(target.node.id),
        middle = array.shape.map((n) => Math.floor((n - 1) / 2)),
        isHeld = (at) => at?.length === array.shape.length && partAround(array, [at]),
        sumsIn = (at) => sumsAt(step, meeting, arrays, at),
        hasTerms = ({ products, plus }) =>
          plus.length || products.some((one) => one.chosen !== false),
        meets = (at) => sumsIn(at).some(hasTerms),
        part = isHeld(before) ? null : isHeld(middle);
      let place = [before, middle].find(isHeld);
      if (part && !meets(middle)) place = placesOfPart(part).find(meets) ?? middle;
      const sums = place ? sumsIn(place) : [],
        factors = sums.flatMap(({ products }) => products.flatMap((p) => p.factors)),
        met = [...factors, ...sums.flatMap(({ plus }) => plus)];
      if (!place || met.some(({ value }) => value === undefined)) return missing(say("missing"));
      if (!samePlace(place, before)) chooseEntry(host, target.node.id, place);
      const written = writtenMap({ node: target.node, array, column: meeting.column, place }),
        hint = note(`${say("point")} ${t("heatKey")}`),
        told = line(meeting, target.node, place, sums),
        said = h(
          "p",
          { class: "mg-meet", role: "status" },
          asked ? told.replace(/=.*/, "= ?") : told,
        );
      if (asked) return box.replaceChildren(together(meeting, arrays, sums, written), said);
      const tables = sums.map((sum) => worked(sum, arrays));
      box.replaceChildren(
        together(meeting, arrays, sums, written),
        ...[solid(meeting, arrays, sums, place)].filter(Boolean),
        hint,
        h("div", { class: "mg-sumrows" }, tables),
        said,
      );
    }
    // A product of matrices as a solid, of whose written face an element can be chosen.
    function solid(meeting, arrays, sums, place) {
      const { terms } = meeting.node,
        { target } = meeting,
        [sum] = sums,
        [{ result, read }] = meeting.sums;
      if (sums.length > 1 || terms.combine !== "sum" || terms.added?.includes(target)) return null;
      const indices = [[-1, terms.result], ...terms.operands.map((one, i) => [i, one])],
        factors = indices.filter(([number]) => !terms.added?.includes(number));
      const columnIn = (number) =>
        number === target ? meeting.column : number < 0 ? result : read[number];
      const parts = factors.map(([number, index]) => {
        const { node, [columnIn(number)]: array } = arrays.get(number);
        return { number, node, array, index, column: columnIn(number) };
      });
      const lit = new Map(parts.map(({ number }) => [number, new Set()]));
      lit.get(target).add(String(place));
      for (const { factors: met } of sum.products)
        for (const f of met) lit.get(f.number).add(String(f.at));
      const picture = drawSolid(terms.sizes, parts, target, place, lit);
      const pointed = (event) => choose(arrays.get(target).node, pointedAt(event));
      for (const kind of ["pointerover", "click"]) picture?.addEventListener(kind, pointed);
      return picture;
    }
    // All arrays of a meeting: of a product of matrices so that row and column meet in the element.
    function together(meeting, arrays, sums, written) {
      const reads = new Map();
      for (const sum of sums)
        for (const f of [...sum.products.flatMap((p) => p.factors), ...sum.plus]) {
          const name = `${f.number} ${f.column}`;
          if (!reads.has(name)) reads.set(name, { ...f, places: [] });
          reads.get(name).places.push(f.at);
        }
      const shown = ({ number, column, turned = false }) => {
        const { node, [column]: array } = arrays.get(number),
          { places = [] } = reads.get(`${number} ${column}`) ?? {};
        return readMaps({ node, array, column, turned, places });
      };
      const product = falk(meeting, arrays),
        factors = [product?.left.number, product?.top.number],
        rest = [...reads.values()].filter(({ number }) => !factors.includes(number)).map(shown);
      if (!product) return h("div", { class: "mg-arrays" }, rest, written);
      const isLarge = [...arrays.values()].some(({ v, g }) => v?.parts || g?.parts);
      return h(
        "div",
        { class: `mg-falk ${isLarge ? "mg-large" : ""}` },
        h("div", { class: "mg-corner" }, rest),
        shown(product.top),
        shown(product.left),
        written,
      );
    }
    return {
      box,
      fit: fitterOf(box, (level) => {
        less = level;
        whole.draw(less);
        redraw();
      }),
      update(k, step, state, asked) {
        whole.update(k, step, state, asked);
        redraw = () => keepFocus(() => draw(asked ?? step, state, asked));
        redraw();
      },
    };
  },
};
