// The table: a row for each node (or closed group) on view, a column for each pass. Of a long table
// only the rows near those that are seen are drawn; two empty ones take the place of the others.

import { h, motion, nodeAt, setText, tableHead, unbroken } from "./dom.js";
import { cellsBeside, unlikeText, widenBeside } from "./beside.js";
import { key, nodesOf, unkeptOf } from "./fold.js";
import {
  captionOf,
  columnMark,
  columnName,
  expression,
  labelOf,
  math,
  nodeName,
  plain,
  runs,
} from "./formulas.js";
import { groupRow, rowsOf, setIn } from "./groups.js";
import { isOdd, digitsIn } from "./numbers.js";
import { brief, full } from "./summaries.js";

const WIDE = 30; // characters of an array that a cell shows; the rest is its title
// for a table wider than its place: without the column of how it is made; in smaller letters;
// shapes below the names; arrays by their ranges, on several lines; shapes, too
const TIGHT = ["mg-tight", "mg-compact", "mg-named", "mg-tighter", "mg-cramped"];
const ROWS_DRAWN = 120, // of a long table: on both sides of the rows that are seen
  ROW_TALL = 33; // pixels, until a row has been measured
const FOLDED = 11; // characters in such a line, where no number is longer

// redrawn(): called when other rows were drawn.
// Long: a closure, whose functions share these elements and the state.
export function drawTable(trace, t, jumpTo, graph, redrawn) {
  const { nodes, columns, steps } = trace,
    byId = nodesOf(trace),
    body = h("tbody");
  const unkept = unkeptOf(trace);
  const text = (value, whole) => brief(value, t, WIDE, whole),
    theirs = cellsBeside(trace);
  let ids = [], // of all rows
    whole = false, // all rows are drawn, for paper
    listed, // elements up to which an array stands in full, where it is not as elsewhere
    from = 0, // the first that is drawn
    tall = ROW_TALL, // the tallest
    hidden = new Set(), // columns
    latest, // the step, its state, and that whose values are shown, faint where it is the end's
    rows = new Map(), // those that are drawn
    space = 0, // the height of the box in pixels
    headTall = ROW_TALL,
    held, // pixels of head and rows kept at the upper edge, and at the lower
    marked = [];
  const gap = () => h("tr", { "aria-hidden": "true" }, h("td", { colspan: columns.length + 2 })),
    gaps = [gap(), gap()];

  const makingOf = (node) => {
    const kind = ["input", "const", "param", "seed"].includes(node.kind)
      ? t(node.kind)
      : String(node.op ?? "");
    return node.expr?.length ? expression(node) : kind;
  };
  function nodeRow(node, cells) {
    const small = captionOf(node);
    const button = {
      class: "mg-jump",
      tabindex: "-1",
      "aria-label": nodeName(node),
      title: t("press"),
      onclick: () => jumpTo(node.id),
    };
    const jump = h(
      "button",
      button,
      math([{ t: "sym", ...labelOf(node), node: node.id }]),
    );
    const mark =
      node.dangling && h("small", { class: "mg-tag", title: t("dangling") }, t("danglingShort"));
    return h(
      "tr",
      { "data-node": node.id, class: node.dangling ? "mg-dangling" : null },
      h("th", { scope: "row" }, jump, small && h("small", null, unbroken(small)), mark),
      h("td", { class: "mg-made" }, makingOf(node)),
      ...cells,
    );
  }
  function build() {
    ids = rowsOf(graph) ?? nodes.map((node) => node.id);
    drawFrom(from);
  }
  const isLong = () => ids.length > 2 * ROWS_DRAWN && !whole;
  // Draws the rows from one on, or all of them where they are few.
  function drawFrom(first) {
    const long = isLong();
    from = long ? Math.max(0, Math.min(ids.length - 2 * ROWS_DRAWN, first)) : 0;
    const drawn = long ? ids.slice(from, from + 2 * ROWS_DRAWN) : ids;
    rows = new Map();
    marked = [];
    for (const id of drawn) {
      const group = graph?.tree?.groups.get(id);
      const cells = new Map(
        columns.map(({ key }) => [
          key,
          h("td", { class: `mg-num mg-c-${key}`, "data-col": key, hidden: hidden.has(key) }),
        ]),
      );
      const row = group
        ? groupRow(group, cells, graph, jumpTo, byId, t)
        : nodeRow(byId.get(id), cells.values());
      setIn(row, graph, id);
      rows.set(id, { row, cells, source: group ? group.last : id });
    }
    const all = [...rows.values()].map((one) => one.row);
    body.replaceChildren(...(long ? [gaps[0], ...all, gaps[1]] : all));
    spaced();
    fill();
  }
  const spaced = () =>
    [from, ids.length - from - rows.size].forEach((count, i) => {
      gaps[i].hidden = !count;
      gaps[i].style.height = `${count * tall}px`;
    });
  // The rows that are seen are drawn, and so many before and after them.
  function drawSeen() {
    if (!isLong() || !space) return;
    const first = Math.floor((box.scrollTop - headTall) / tall),
      last = first + Math.ceil(space / tall);
    if ((first < from && from) || (last > from + rows.size && from + rows.size < ids.length)) {
      drawFrom(first - ROWS_DRAWN);
      redrawn();
    }
  }
  body.addEventListener("click", (event) => {
    const id = event.target.closest("button") ? null : nodeAt(event.target);
    if (id) jumpTo(id, event);
  });

  // Space for the widest value of each column from the start, so that the table does not move while
  // it fills.
  const widest = new Map(columns.map((c) => [c.key, 6])),
    longest = new Map(columns.map((c) => [c.key, FOLDED])); // of its parts that no line divides
  const grown = (sizes, key, size) => size > (sizes.get(key) ?? 0) && sizes.set(key, size);
  // Whether any has grown.
  function measure() {
    let more = false;
    for (const step of steps)
      for (const [, column, value] of step.writes ?? []) {
        if (grown(widest, column, digitsIn(text(value)))) more = true;
        for (const part of text(value, 1).split(" ")) grown(longest, column, part.length);
      }
    return more;
  }
  measure();
  widenBeside(widest, trace, text, t);
  const reserves = new Map(
    columns.map((c) => [c.key, h("i", { class: "mg-reserve", "aria-hidden": "true" })]),
  );
  const reserve = () =>
    reserves.forEach((one, column) => {
      one.textContent = "0".repeat(widest.get(column));
      one.style.setProperty("--mg-folded", `${longest.get(column)}ch`);
    });
  const heads = columns.map((c) =>
    h(
      "th",
      { scope: "col", class: `mg-num mg-c-${c.key}`, "data-col": c.key },
      columnName(c, t),
      " ",
      columnMark(c.key),
      reserves.get(c.key),
    ),
  );
  // the widest that these columns may hold, where not all rows are drawn
  const reserved = (parts, sizeOf) => {
    if (nodes.length <= 2 * ROWS_DRAWN) return null;
    const sizes = nodes.map(sizeOf),
      node = nodes[sizes.indexOf(Math.max(...sizes))];
    return h("i", { class: "mg-reserve", "aria-hidden": "true" }, parts(node));
  };
  const head = tableHead(
    h(
      "th",
      { scope: "col" },
      t("node"),
      reserved(
        (node) => [nodeName(node), h("small", null, captionOf(node))],
        (node) => (nodeName(node) + captionOf(node)).length,
      ),
    ),
    h(
      "th",
      { scope: "col", class: "mg-made" },
      t("made"),
      reserved(makingOf, ({ expr }) => plain(runs(expr ?? [])).length),
    ),
    heads,
  );
  const table = h("table", { class: "mg-table" }, h("caption", null, t("table")), head, body);
  const box = h(
    "div",
    { class: "mg-scroll mg-tablebox", tabindex: "0", role: "group", "aria-label": t("table") },
    table,
  );
  const standsFor = (id) => graph?.stands(id) ?? id;
  box.addEventListener("scroll", drawSeen);
  reserve();
  build();

  function fill() {
    if (!latest) return;
    const [step, state, seen] = latest;
    for (const element of marked) {
      element.classList.remove("mg-read", "mg-write", "mg-active", "mg-near");
      element.style.inset = "";
    }
    marked = [];
    held = [headTall, 0];
    const faint = `${seen !== state}`;
    for (const { row, cells, source } of rows.values()) {
      row.classList.toggle("mg-unborn", seen.unborn.has(source));
      for (const [column, cell] of cells) {
        const value = seen.get(key(source, column));
        const other = theirs.shown(key(source, column), state),
          unlike = value !== undefined && other !== undefined,
          lost = column === "v" && unkept.has(source) ? t("unkept") : "",
          said = unlike
            ? unlikeText(value, other, t, !listed && text)
            : text(value, listed) || lost;
        cell.classList.toggle("mg-unlike-value", unlike);
        if (cell.ariaHidden !== faint) cell.ariaHidden = faint; // what is read aloud is known
        if (!setText(cell, said)) continue;
        cell.title = value === undefined ? "" : full(value, t);
        cell.classList.toggle("mg-nan", isOdd(said, value));
      }
    }
    if (!step) return;
    const mark = (element, kind) => {
      if (!element) return; // not drawn
      marked.push(element);
      element.classList.add(kind);
    };
    const cell = ([id, column]) => rows.get(standsFor(id))?.cells.get(column);
    for (const read of step.reads ?? []) mark(cell(read), "mg-read");
    for (const write of step.writes ?? []) mark(cell(write), "mg-write");
    const own = rows.get(standsFor(step.node));
    if (!own) return;
    mark(own.row, "mg-active");
    // rows that are read stay at the edges of the box where the row of the step is between them
    const all = [...rows.values()],
      at = all.indexOf(own),
      read = (step.reads ?? []).map(([id]) => rows.get(standsFor(id)));
    let spare = space - headTall - own.tall;
    [all.slice(0, at), all.slice(at + 1).reverse()].forEach((some, side) => {
      for (const one of some)
        if (read.includes(one) && (spare -= one.tall) >= 0) {
          mark(one.row, "mg-near");
          one.row.style[side ? "bottom" : "top"] = `${held[side]}px`;
          held[side] += one.tall;
        }
    });
  }

  return {
    box,
    build,
    // Other values: returns whether they need more space than any before.
    renew() {
      if (!measure()) return false;
      reserve();
      build();
      return true;
    },
    update(...all) {
      latest = all;
      fill();
    },
    // All rows, where `on`: paper has no scroll bar.
    whole(on) {
      whole = on;
      drawFrom(from);
    },
    show(shown) {
      hidden = new Set(columns.map((c) => c.key).filter((column) => !shown.has(column)));
      for (const cell of table.querySelectorAll("[data-col]"))
        cell.hidden = hidden.has(cell.dataset.col);
    },
    // As much of it as its place has space for; what is still too wide scrolls.
    fit() {
      box.style.cssText = ""; // rows have their own heights
      table.classList.remove(...TIGHT);
      for (const more of TIGHT)
        if (table.offsetWidth > box.clientWidth) table.classList.add(more);
      // of an array no row is broken
      const most = table.classList.contains("mg-tighter") ? 1 : undefined;
      if (most !== listed) {
        listed = most;
        fill();
      }
      headTall = head.offsetHeight;
      tall = 1;
      for (const one of rows.values()) tall = Math.max(tall, (one.tall = one.row.offsetHeight));
      spaced();
      // the box ends with a row
      box.style.cssText = `--mg-head:${headTall + 2}px;--mg-row:${tall}px`;
      fill();
    },
    levels: TIGHT.length,
    // level: how much tighter it is.
    width(level) {
      table.classList.remove(...TIGHT);
      table.classList.add(...TIGHT.slice(0, level));
      table.style.width = "max-content";
      const needs = Math.ceil(table.getBoundingClientRect().width) + 2; // a part of a pixel scrolls
      table.style.width = "";
      return needs;
    },
    // The least height that shows its head and any row.
    least() {
      return headTall + tall + box.offsetHeight - box.clientHeight;
    },
    // The row into view, and, where the table is wider than its place, the cell that is written.
    follow(step, smooth) {
      const id = step && standsFor(step.node);
      if (space !== box.clientHeight) {
        space = box.clientHeight;
        fill();
      }
      if (id && isLong() && space && !rows.has(id)) drawFrom(ids.indexOf(id) - ROWS_DRAWN);
      const found = rows.get(id);
      if (!found) return;
      const { row, cells } = found,
        cell = cells.get(step.writes?.[0]?.[1]),
        names = row.firstElementChild.offsetWidth;
      const to = { top: box.scrollTop, left: box.scrollLeft, behavior: motion(smooth) };
      const under = row.offsetTop - held[0], // just below what is kept there
        spare = space - row.offsetHeight - held[0] - held[1];
      if (under < box.scrollTop || under - spare > box.scrollTop)
        // the upper edge cuts no row
        to.top = [...body.querySelectorAll("tr:not(.mg-near)")]
          .map((one) => one.offsetTop - held[0])
          .find((top) => top >= under - Math.max(0, spare / 2));
      if (cell && cell.offsetLeft - names < box.scrollLeft) to.left = cell.offsetLeft - names;
      else if (cell && cell.offsetLeft + cell.offsetWidth > box.scrollLeft + box.clientWidth)
        to.left = cell.offsetLeft + cell.offsetWidth - box.clientWidth;
      if (to.top !== box.scrollTop || to.left !== box.scrollLeft) box.scrollTo(to);
    },
  };
}
