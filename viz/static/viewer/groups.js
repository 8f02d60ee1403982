// Groups: what the program says, as boxes that open: its modules, calls, loops and rounds; repeated
// blocks folded into one; in a large graph also its lines, and stretches of what is still too many.
//
// A group is a run of neighbours in the order of birth. So the graph of boxes has no cycle,
// whatever is open: edges lead from older to younger.

import constants from "./constants.json" with { type: "json" };
import { h } from "./dom.js";
import { nodesOf } from "./fold.js";
import { blockPath, roundText } from "./rounds.js";

const { many: MANY, few: FEW, most: MOST, outline: OUTLINE } = constants;
const ALONE = 8, // boxes among which the only group is open at first, whatever it holds
  LINE_LABEL = 30; // characters of a source line that a label holds

const isSource = (node) => ["input", "const", "param", "seed"].includes(node.kind);

// The tree: items are node ids or groups {id, label, kind, items, leaves, last, parent?, times?};
// depths: of each item in a group, how many are around it. Null where there is nothing to group.
// t: the words of the labels.
export function groupTree(trace, t) {
  const { nodes } = trace,
    named = nodes.some((node) => node.group),
    // in a small graph without modules, calls of the library's functions on arrays alone
    counts = ({ kind }) => named || nodes.length > FEW || kind === "library",
    blocked = trace.blocks?.some(counts);
  if (!named && !blocked && nodes.length <= MANY) return null;
  const blocks = new Map(blocked ? trace.blocks.map((block) => [block.id, block]) : []),
    pathOf = blocked ? (node) => blockPath(blocks, node.block, counts) : modulePath,
    paths = new Map(nodes.map((node) => [node.id, pathOf(node)])),
    users = new Map(nodes.map((node) => [node.id, []]));
  for (const e of trace.edges) users.get(e.src).push(e.dst);
  const { outside, sequence } = withSources(nodes, users, paths),
    make = groupMaker(trace, t, { blocks, users, paths });
  const items = [...outside, ...make.blocks(sequence, 0)],
    depths = new Map();
  const under = (some, depth) => {
    for (const { items } of some.flatMap((item) => make.groups.get(item) ?? [])) {
      for (const item of items) depths.set(item, depth);
      under(items, depth + 1);
    }
  };
  under(items, 1);
  return { items, groups: make.groups, count: nodes.length, depths };
}

// The ids of the table's rows: those of what is shown, and of an open group before its items.
export function rowsOf(graph) {
  if (!graph?.tree) return null;
  const seen = new Set(graph.shown()),
    visit = (items) =>
      items.flatMap((item) => [
        item,
        ...(seen.has(item) ? [] : visit(graph.tree.groups.get(item).items)),
      ]);
  return visit(graph.tree.items);
}

// The row of a group: with the values of its last node, or of an open one a heading without.
export function groupRow(group, cells, graph, jumpTo, byId, t) {
  const open = graph.stands(group.last) !== group.id;
  const button = {
    class: "mg-jump",
    tabindex: "-1",
    title: t(open ? "close" : "press_open"),
    onclick: () => jumpTo(group.id),
  };
  const all = [
    h("td", { class: "mg-made" }, operationsIn(group, byId, t)),
    ...cells.values(),
  ];
  if (open) cells.clear();
  return h(
    "tr",
    { "data-node": group.id, class: "mg-grouprow" },
    h(
      "th",
      { scope: "row", colspan: open && all.length + 1 },
      h("button", button, `${open ? "▾" : "▸"} ${group.label}`),
    ),
    !open && all,
  );
}

// A row of the table is set in as far as its item is nested.
export const setIn = (row, graph, id) => {
  const depth = graph?.tree?.depths.get(id) ?? 0;
  row.firstElementChild.style.textIndent = `${6 * depth}px`;
};

const modulePath = (node) => (node.group ? node.group.split("/") : []);

// A parameter or constant that only one group uses stands in that group, right before its first
// use.
function withSources(nodes, users, paths) {
  const before = new Map(),
    outside = [];
  for (const node of nodes.filter(isSource)) {
    const all = users.get(node.id).map((id) => paths.get(id).join("/")),
      first = users.get(node.id)[0];
    const inside = node.kind !== "input" && all[0] && all.every((path) => path === all[0]);
    paths.set(node.id, inside ? paths.get(first) : []);
    if (!inside) outside.push(node.id);
    else if (before.has(first)) before.get(first).push(node.id);
    else before.set(first, [node.id]);
  }
  const order = nodes.filter((node) => !isSource(node)).map((node) => node.id);
  return { outside, sequence: order.flatMap((id) => [...(before.get(id) ?? []), id]) };
}

// Makes the groups of a Trace, by one rule after the other.
// Long: a closure, whose rules share the groups that they make.
function groupMaker(trace, t, { blocks, users, paths }) {
  const byId = nodesOf(trace),
    groups = new Map(),
    rounds = new Map(), // item -> the round that it is, or stands for
    bounds = new Map(), // a stretch -> its first and last item
    code = (trace.source?.code ?? "").split("\n"),
    large = trace.nodes.length > MANY;
  let made = 0;

  function add(label, kind, more = {}) {
    const group = { id: `group ${++made}`, label, kind, ...more };
    groups.set(group.id, group);
    return group;
  }
  const isGroup = (item) => groups.has(item),
    leavesOf = (item) => groups.get(item)?.leaves ?? item;
  function fill(group, items) {
    group.items = items;
    group.leaves = items.flatMap(leavesOf);
    group.last = group.leaves.at(-1);
    for (const item of items) if (groups.has(item)) groups.get(item).parent = group;
    return group.id;
  }
  const inBlocks = (ids, depth) => packed(folded(runs(ids, depth)));

  // -- neighbours in the same block; a call, loop or round of one item is that item
  function runs(ids, depth) {
    const out = [];
    for (let i = 0; i < ids.length;) {
      const part = paths.get(ids[i])[depth];
      let end = i + 1;
      while (part !== undefined && end < ids.length && paths.get(ids[end])[depth] === part) end++;
      out.push(part === undefined ? ids[i] : blockOf(part, ids.slice(i, end), depth));
      i = end;
    }
    return out;
  }
  function blockOf(part, ids, depth) {
    const block = blocks.get(part) ?? { kind: "module", label: part },
      group = add("", block.kind),
      items = inBlocks(ids, depth + 1),
      alone = items.length === 1 && block.kind !== "module";
    if (alone) groups.delete(group.id);
    else group.label = labelOf(block);
    // rounds of one operation each stand as these operations
    if (!alone && items.every((item) => rounds.has(item) && !groups.has(item)))
      group.label += ` · ${t("rounds", { n: block.rounds ?? items.length })}`;
    const found = alone ? items[0] : fill(group, items);
    if (block.kind !== "round") return found;
    rounds.set(found, block);
    // a round that is one call is that call, by the round's name: all rounds make the same one
    const call = groups.get(found);
    if (call?.kind === "function") Object.assign(call, { label: labelOf(block), kind: "round" });
    return found;
  }
  const labelOf = (block) => (block.kind === "round" ? roundText(blocks, block, t) : block.label);

  // -- repetitions of up to four items in a row become one group
  function folded(items) {
    const signs = items.map(signature),
      out = [];
    for (let i = 0; i < items.length;) {
      const found = [1, 2, 3, 4]
        .filter((p) => repeatable(items.slice(i, i + p)))
        .map((p) => alike(items, signs, i, p))
        .find((blocks) => blocks[1] && chained(blocks));
      out.push(found ? repetition(found) : items[i]);
      i += found?.flat().length ?? 1;
    }
    return out;
  }
  const repeatable = (block) =>
    ["module", "function", "library"].includes(groups.get(block.find(isGroup))?.kind);
  function repetition(blocks) {
    const names = blocks.map((one) => groups.get(one.find(isGroup)).label),
      whole = add(`${names[0]} … ${names.at(-1)}`, "module", { times: blocks.length });
    const inside = blocks.map((one, j) => (one[1] ? fill(add(names[j], "module"), one) : one[0]));
    return fill(whole, inside);
  }
  // What an item is made of: equal signatures are repetitions of one block.
  function signature(item) {
    const group = groups.get(item),
      node = byId.get(item);
    if (group)
      return `[${(group.times ? `${group.times}*` : "") + group.items.map(signature).join(",")}]`;
    return `${node.op ?? node.kind}${(node.shape ?? []).join("x")}`;
  }
  // Whether each block feeds the next. Branches side by side may look alike, but they are no
  // repetition: one box would hide the fork.
  function chained(blocks) {
    const leaves = blocks.map((one) => one.flatMap(leavesOf));
    return leaves
      .slice(1)
      .map((next) => new Set(next))
      .every((next, j) => leaves[j].some((id) => users.get(id).some((user) => next.has(user))));
  }

  // -- in a large graph: operations of one source line in a row as a group, and what is then still
  // too many as stretches, and stretches of stretches: of equal size at every depth, and as few
  // deep as leaves at most MOST items together
  function packed(given) {
    if (!large || given.length <= MOST) return given;
    let items = inSourceLines(given),
      depth = 2,
      size = OUTLINE;
    while (MOST ** depth < items.length) depth++;
    while (size ** depth < items.length) size++;
    while (items.length > MOST) items = stretches(items, size);
    return items;
  }
  function inSourceLines(items) {
    const found = [];
    for (const item of items) {
      const line = byId.get(item)?.span?.[0] ?? 0;
      if (found.length && line && found.at(-1)[0] === line) found.at(-1)[1].push(item);
      else found.push([line, [item]]);
    }
    if (found.length < 2 || found.length > items.length / 1.5) return items;
    return found.map(([line, run]) =>
      run.length > 1 ? fill(add(lineLabel(line), "line"), run) : run[0],
    );
  }
  function lineLabel(line) {
    const text = Array.from((code[line - 1] ?? "").trim());
    const cut = text.length <= LINE_LABEL ? text : [...text.slice(0, LINE_LABEL - 1), "…"];
    return `${t("line", { i: line })}: ${cut.join("")}`;
  }
  function stretches(items, size) {
    const out = [];
    for (let at = 0; at < items.length; at += size) {
      const part = items.slice(at, at + size),
        first = bounds.get(part[0])?.[0] ?? part[0],
        last = bounds.get(part.at(-1))?.[1] ?? part.at(-1);
      const found = fill(add(stretchLabel(first, last), "stretch"), part);
      bounds.set(found, [first, last]);
      out.push(found);
    }
    return out;
  }
  function stretchLabel(first, last) {
    const [a, b] = [rounds.get(first), rounds.get(last)],
      name = (item) => groups.get(item)?.label ?? item;
    if (!a || !b) return `${name(first)} … ${name(last)}`;
    const { rounds: n } = blocks.get(a.parent);
    return t(n ? "roundsOf" : "roundsNumber", { a: a.round, b: b.round, n });
  }

  return { groups, blocks: inBlocks };
}

// Blocks of p items in a row that are made of the same, the first at `at`.
function alike(items, signs, at, p) {
  const blocks = [],
    same = (i) => signs.slice(at, at + p).every((sign, j) => sign === signs[i + j]);
  for (let i = at; same(i); i += p) blocks.push(items.slice(i, i + p));
  return blocks;
}

// How many operations a group holds, in words.
export function operationsIn(group, byId, t) {
  const n = group.leaves.filter((id) => byId.get(id).op).length;
  return t(n === 1 ? "operation" : "operations", { n });
}

// Which groups are open at first: of those seen the ones with most nodes deeper inside, equal ones
// together, until they do not fit or are a repetition. One that stands almost alone is open anyway.
// Those of the library are opened by hand alone.
export function openAtFirst(tree) {
  const open = new Set(),
    deeper = ({ leaves, items }) => leaves.length - items.length;
  for (;;) {
    const { shown } = visible(tree, open),
      inside = shown
        .map((item) => tree.groups.get(item))
        .filter((one) => one && one.kind !== "library"),
      most = inside.filter((group) => deeper(group) === Math.max(...inside.map(deeper))),
      boxes = most.reduce((sum, group) => sum + group.items.length - 1, shown.length),
      half = most.some((group) => 2 * group.leaves.length > tree.count),
      alone = !inside[1] && shown.length <= ALONE;
    if (!most[0] || most.some((group) => group.times)) return open;
    if (!alone && boxes > (half ? MOST : OUTLINE)) return open;
    most.forEach((group) => open.add(group.id));
  }
}

// The groups around a node, the outermost first.
export function groupsAround(tree, id) {
  const path = [];
  const holding = (items) =>
    items.find((item) => tree.groups.get(item)?.leaves.includes(id));
  for (let item = holding(tree.items); item; item = holding(tree.groups.get(item).items))
    path.push(item);
  return path;
}

// What is to be seen: the ids in order, and for each node the id that stands for it.
export function visible(tree, open) {
  const shown = [],
    standsFor = new Map();
  function visit(items) {
    for (const item of items) {
      const group = tree.groups.get(item);
      if (group && open.has(item)) visit(group.items);
      else {
        shown.push(item);
        for (const leaf of group?.leaves ?? [item]) standsFor.set(leaf, item);
      }
    }
  }
  visit(tree.items);
  return { shown, standsFor };
}
