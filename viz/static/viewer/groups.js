// Groups: Modules as boxes that open, repeated blocks folded into one, and, in a large graph
// without Modules, stretches of its operations.
//
// A group is a run of neighbours in the order of birth. So the graph of boxes has no cycle,
// whatever is open: edges lead from older to younger.

import constants from "./constants.json" with { type: "json" };

// nodes beyond which a graph is never shown whole at first
export const MANY = constants.many;

const isSource = (node) => ["input", "const", "param", "seed"].includes(node.kind);

// The tree: items are node ids or groups {id, label, items, leaves, last, times?}. Null where there
// is nothing to group.
// Long: the stages of one algorithm, each used once.
export function groupTree(trace) {
  const { nodes, edges } = trace,
    paths = new Map(),
    users = new Map();
  const named = nodes.some((node) => node.group);
  if (!named && nodes.length <= MANY) return null;
  for (const e of edges) users.set(e.src, [...(users.get(e.src) ?? []), e.dst]);
  for (const node of nodes) paths.set(node.id, named && node.group ? node.group.split("/") : []);
  const order = [];
  for (const node of nodes.filter((one) => !isSource(one))) order.push(node.id);
  if (!named) chunks(order, paths);
  // A parameter or constant that only one group uses stands in that group, right before its first
  // use.
  const before = new Map(),
    outside = [];
  for (const node of nodes.filter(isSource)) {
    const all = (users.get(node.id) ?? []).map((id) => paths.get(id).join("/")),
      first = users.get(node.id)?.[0];
    const run = node.kind !== "input" && all[0] && all.every((path) => path === all[0]);
    paths.set(node.id, run ? paths.get(first) : []);
    if (run) before.set(first, [...(before.get(first) ?? []), node.id]);
    else outside.push(node.id);
  }
  const sequence = order.flatMap((id) => [...(before.get(id) ?? []), id]);
  const byId = new Map(nodes.map((node) => [node.id, node])),
    groups = new Map();
  const items = [...outside, ...fold(runs(sequence, 0, null), null)];

  function add(label, inside, parent, more = {}) {
    const id = `group ${groups.size + 1}`,
      group = { id, label, parent, ...more };
    groups.set(id, group);
    group.items = inside(group);
    group.leaves = group.items.flatMap((item) => groups.get(item)?.leaves ?? [item]);
    group.last = group.leaves.at(-1);
    for (const item of group.items) if (groups.has(item)) groups.get(item).parent = group;
    return id;
  }
  function runs(ids, depth, parent) {
    const out = [];
    for (let i = 0; i < ids.length;) {
      const part = paths.get(ids[i])[depth];
      let end = i + 1;
      while (part !== undefined && end < ids.length && paths.get(ids[end])[depth] === part) end++;
      out.push(
        part === undefined
          ? ids[i]
          : add(part, (own) => fold(runs(ids.slice(i, end), depth + 1, own), own), parent),
      );
      i = end;
    }
    return out;
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
  function chained(items, at, p, times) {
    const leaves = (j) =>
      items
        .slice(at + j * p, at + (j + 1) * p)
        .flatMap((item) => groups.get(item)?.leaves ?? [item]);
    return Array.from({ length: times - 1 }, (_, j) => new Set(leaves(j + 1))).every((next, j) =>
      leaves(j).some((id) => (users.get(id) ?? []).some((user) => next.has(user))),
    );
  }
  function fold(items, parent) {
    if (!named) return items;
    const signs = items.map(signature),
      out = [];
    for (let i = 0; i < items.length;) {
      const found = [1, 2, 3, 4]
        .map((p) => [p, repeats(signs, i, p)])
        .find(
          ([p, times]) =>
            times > 1 &&
            items.slice(i, i + p).some((item) => groups.has(item)) &&
            chained(items, i, p, times),
        );
      if (!found) {
        out.push(items[i++]);
        continue;
      }
      const [p, times] = found,
        start = i;
      const block = (j) => items.slice(start + j * p, start + (j + 1) * p);
      const name = (list) => groups.get(list.find((item) => groups.has(item))).label;
      const label = `${name(block(0))} … ${name(block(times - 1))}`;
      const each = (own) =>
        Array.from({ length: times }, (_, j) =>
          p === 1 ? block(j)[0] : add(name(block(j)), () => block(j), own),
        );
      out.push(add(label, each, parent, { times }));
      i += p * times;
    }
    return out;
  }
  return { items, groups, automatic: !named };
}

function repeats(signs, at, p) {
  let times = 1;
  while (
    at + (times + 1) * p <= signs.length &&
    signs.slice(at, at + p).every((sign, j) => sign === signs[at + times * p + j])
  )
    times++;
  return times;
}

// Stretches of about √n operations, and stretches of stretches where there are very many.
function chunks(order, paths) {
  const size = Math.min(48, Math.max(12, Math.ceil(Math.sqrt(order.length))));
  const outer = order.length / size > 48 ? size * Math.ceil(Math.sqrt(order.length / size)) : 0;
  const name = (from, length) =>
    `${order[from]} … ${order[Math.min(order.length, from + length) - 1]}`;
  order.forEach((id, i) => {
    const inner = name(i - (i % size), size);
    paths.set(id, outer ? [name(i - (i % outer), outer), inner] : [inner]);
  });
}

// How many operations a group holds, in words.
export function operationsIn(group, byId, t) {
  const n = group.leaves.filter((id) => byId.get(id).op).length;
  return t(n === 1 ? "operation" : "operations", { n });
}

// Which groups are open at first: a group that alone holds the whole picture.
export function openAtFirst(tree) {
  const open = new Set();
  let items = tree.items;
  for (;;) {
    const groups = items.filter((item) => tree.groups.has(item));
    if (groups.length !== 1 || items.length > 8 || tree.groups.get(groups[0]).times) return open;
    open.add(groups[0]);
    items = tree.groups.get(groups[0]).items;
  }
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
