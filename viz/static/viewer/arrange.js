// How a viewer's parts stand: graph beside table where both can be read, else one below the other.

// Pixels: the width from which graph and table stand side by side; the least width of the table's
// column, and of a view's in its place; the space between the columns.
const TWO_COLUMNS = 820,
  SIDE_WIDTH = 230,
  VIEW_WIDTH = 340,
  BETWEEN = 16,
  LOWEST_GRAPH = 320; // pixels of the graph's height, in however low a window

// Two columns, where there is a graph that can be read beside the table: the table gives way first.
// Null: one column.
function columnsFor(across, graph, table, widthOf, viewsOpen, tableShown) {
  if (across < TWO_COLUMNS || !graph) return null;
  const inner = across - 34,
    flat = graph.flat(),
    least = viewsOpen ? VIEW_WIDTH : SIDE_WIDTH,
    hopeless = graph.scaleIn(inner - BETWEEN - least) < graph.legible;
  for (let level = hopeless ? Infinity : 0; level <= table.levels; level++) {
    const side = Math.max(least, tableShown ? widthOf(level) : 0),
      left = inner - BETWEEN - side,
      scale = graph.scaleIn(left);
    if (scale < (level < table.levels - 1 ? graph.comfortable : graph.legible)) continue;
    const free = Math.max(0, left - flat.width - 4);
    return { level, side: Math.round(side + Math.min(free, Math.max(0, inner * 0.42 - side))) };
  }
  // a large graph scrolls beside a table that has its width, unless it is long
  const side = Math.round((inner - BETWEEN) / 2.45),
    long = flat.width > 2.6 * flat.height && flat.width > 1.6 * side;
  return long || widthOf(0) > side ? null : { level: 0, side };
}

// Pixels for the graph that end with the window where the viewer begins with it: controls, rule and
// the node of the step are seen at once.
function roomBelow(root) {
  const graph = root.querySelector(".mg-graph"),
    above = graph ? graph.getBoundingClientRect().top - root.getBoundingClientRect().top : 0;
  return Math.max(LOWEST_GRAPH, window.innerHeight - Math.round(above) - BETWEEN);
}

// Arranges a viewer at its present width. The source stands below the graph where the table's
// column is too narrow for it. Returns whether boxes of the graph have moved.
export function arrangeParts(root, main, { graph, table, source, viewsOpen, tableShown, stage }) {
  const own = window.parent === window; // the height of a frame says nothing about the screen
  const across = root.clientWidth,
    room = own ? `${roomBelow(root)}px` : "9999px",
    widths = []; // of the table, by how much tighter it is
  const widthOf = (level) => (widths[level] ??= table.width(level));
  table.box.hidden = !tableShown;
  const found = stage
    ? null
    : columnsFor(across, graph, table, widthOf, viewsOpen, tableShown);
  main.classList.toggle("mg-wide", !found);
  main.classList.toggle("mg-stack", !found && widthOf(0) > 0.57 * (across - 52));
  main.classList.toggle("mg-under", Boolean(found && source && source.width > found.side));
  main.style.setProperty("--mg-side", `${found?.side ?? 0}px`);
  table.fit(found?.level);
  // on these two alone: what they inherit would be computed again for each element in them
  for (const box of [graph?.scroll, table.box]) {
    box?.style.setProperty("--mg-screen", `${own ? window.innerHeight : screen.availHeight}px`);
    box?.style.setProperty("--mg-room", room);
  }
  root.classList.remove("mg-tight");
  // then one line of code
  if (stage && graph?.scaleOnStage() < graph.legible) root.classList.add("mg-tight");
  const moved = graph?.rearranged(stage);
  if (stage) graph?.fill();
  else graph?.fit();
  return moved;
}
