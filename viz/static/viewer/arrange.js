// How a viewer's parts stand: graph beside table where both can be read, else one below the other.

// The least scale at which a graph is shown whole, that below which more space is looked for, and
// that from which less space gains nothing.
export const LEGIBLE = 0.68,
  SMALL = 0.75,
  COMFORTABLE = 0.85;
// Pixels: the width from which graph and table stand side by side; the least width of the table's
// column; the space between the columns.
const TWO_COLUMNS = 820,
  PHONE = 560, // as in the stylesheet
  SIDE_WIDTH = 230,
  BETWEEN = 16,
  ROWS_APART = 12, // between the graph and the source below it, beside the table
  LOWEST_GRAPH = 200, // pixels of the graph's height, in a low window
  LOWEST = 160, // on a phone, and where three rows of the table need the rest
  LOWEST_TABLE = 106, // and of the table's, three rows
  ITS_HEAD = 34,
  LOWEST_SOURCE = 64, // below its head
  TABLE_TOO = 0.4, // of the height, for a table that is kept above a view
  VIEW_SHARE = 0.55, // of the width, for a table beside a large graph, and for that on the stage
  NARROW_VIEW = 480, // of a view beside a graph, where it needs no more
  THREE_COLUMNS = 1100, // for graph and table, from which a view stands beside both
  LOW = 420, // of graph and table together
  STACKED = 600, // of a graph, and of source and table that are one below the other
  SOURCE = 110, // of a source of two lines
  SOURCE_SHARE = 0.2, // of the height, above a table beside a graph that scrolls
  FRAME_ABOVE = 160, // of a screen: what a browser and a notebook have above a frame
  PAGE_AROUND = 36, // above and below the viewer on a page of its own
  PHONE_AROUND = 12,
  SHARE = 1.4 / 2.4; // of the width, for the table beside the source below a graph

const LIMITED = ".mg-tablebox, .mg-views, .mg-source .mg-scroll";

// Two columns, where there is a graph that can be read beside the table: the table gives way first.
// Null: one column.
function columnsFor(across, graph, table, widthOf, viewWidth, tableShown, space) {
  if (across < TWO_COLUMNS || !graph) return null;
  const inner = across - 34,
    beside = inner - BETWEEN, // the width of both
    flat = graph.flat(),
    least = viewWidth || SIDE_WIDTH,
    hopeless = graph.scaleIn(beside - least) < LEGIBLE;
  for (let level = hopeless ? Infinity : 0; level <= table.levels; level++) {
    const side = Math.max(least, tableShown ? widthOf(level) : 0),
      left = beside - side,
      scale = graph.scaleIn(left);
    if (scale < (level < table.levels - 3 ? COMFORTABLE : LEGIBLE)) continue;
    // above a table where it is small beside it though that has its arrays on several lines
    const below = space - BETWEEN - flat.height * graph.scaleIn(inner);
    if (!viewWidth && scale < SMALL && level > table.levels - 2 && below > LOWEST_GRAPH)
      return null;
    const free = Math.max(0, left - flat.width - 4);
    return { side: Math.round(side + Math.min(free, Math.max(0, inner * 0.42 - side))) };
  }
  // a large graph scrolls beside a view that is narrow, too; beside a table that has its width,
  // unless it is long
  if (viewWidth) {
    const scrolls = graph.scaleIn(beside - NARROW_VIEW) < LEGIBLE;
    return { side: scrolls ? viewColumn(viewWidth) : NARROW_VIEW, scrolls };
  }
  const side = Math.round(beside / 2.45),
    long = flat.width > 2.6 * flat.height && flat.width > 1.6 * side;
  const narrowest = () => widthOf(table.levels),
    most = Math.round(beside * VIEW_SHARE),
    few = space - LOWEST_TABLE - ITS_HEAD - 2 * BETWEEN; // above a few rows
  // in a low window beside a graph in lines of which no two would be seen above it, and beside one
  // that would be cut there, at any step, or scroll though lines are read beside the table; or that
  // would have no place above three rows of the table
  if (
    (space < LOW &&
      flat.height > space / 3 &&
      narrowest() <= side &&
      graph.scaleIn(inner) < SMALL) ||
    ((graph.tallest() * LEGIBLE > few ||
      (graph.scaleIn(inner) < LEGIBLE &&
        !graph.lines(few, inner - 2) &&
        graph.lines(space, beside - Math.max(side, narrowest()) - 2))) &&
      narrowest() <= most) ||
    space < LOWEST + BETWEEN + LOWEST_TABLE
  )
    return { side: Math.max(side, Math.min(narrowest(), most)), scrolls: true };
  return long || widthOf(0) > side ? null : { side };
}

const viewColumn = (width) => Math.max(NARROW_VIEW, width);

// The height of what a viewer is seen in; that of a frame says nothing about the screen.
export const windowOf = (root) =>
  window.parent === window
    ? root.closest(".jp-WindowedPanel-outer")?.clientHeight ||
      window.innerHeight - (isPhone(root) ? PHONE_AROUND : PAGE_AROUND)
    : screen.availHeight - FRAME_ABOVE;

export const isPhone = (root) => root.clientWidth <= PHONE;

// Pixels from the top of a part on that end with the window where the viewer begins with it, or
// what stands above the graph of a comparison.
const spaceFrom = (root, part) =>
  windowOf(root) -
  Math.round(topOf(part) - topOf(root.closest(".mg-pair") ?? root)) -
  BETWEEN;
const topOf = (e) => e.getBoundingClientRect().top;

// Pixels for the graph and what stands below it.
const spaceBelow = (root, graph) => spaceFrom(root, graph.scroll) - graph.stripHeight();

// Arranges a viewer at its present width. A view stands in the table's place, and at the right of
// both where graph and table have the width of a laptop beside it. The source stands below the
// graph where the table's column is too narrow for it, and where a view is open in the table's
// place, which needs the height. Returns whether boxes of the graph have moved.
// Long: the space of each part follows from that of the parts before it.
export function arrangeParts(root, main, { graph, table, source, views, tableKept, stage }) {
  const viewed = views.width(),
    column = viewColumn(viewed),
    rest = root.clientWidth - column - BETWEEN,
    apart = viewed && !stage && rest >= THREE_COLUMNS, // the view, in a column of its own
    across = apart ? rest : root.clientWidth,
    tall = windowOf(root), // once: it would be laid out for each part
    right = main.querySelector(".mg-right"),
    viewWidth = apart ? 0 : viewed,
    withTable = tableKept || !viewed || apart,
    space = graph && across >= TWO_COLUMNS ? spaceBelow(root, graph) : Infinity,
    widths = []; // of the table, by how much tighter it is
  root.classList.remove("mg-tight"); // the table is measured
  const widthOf = (level) => (widths[level] ??= table.width(level));
  const holder = apart ? root : table.box.parentNode;
  // moved only to another place: it would lose the focus and scroll back
  if (views.box.parentNode !== holder) holder.insertBefore(views.box, apart ? main : null);
  views.box.style.cssText = apart ? `float:right;width:${column}px;margin-left:${BETWEEN}px` : "";
  table.box.hidden = !withTable;
  const found = stage
    ? null
    : columnsFor(across, graph, table, widthOf, viewWidth, withTable, space);
  const both = across - 50 - BETWEEN; // for source and table, where they are below the graph
  const wide =
    !found && source && Math.max(SHARE * both, Math.min(widthOf(0), both - source.width));
  // below the graph only where that stays whole, or scrolls all the same
  const under =
    found &&
    source &&
    (viewWidth || source.width > found.side) &&
    (viewWidth && found.scrolls ? LOWEST_GRAPH : graph.flat().height * LEGIBLE) + SOURCE <
      spaceBelow(root, graph);
  main.classList.toggle("mg-wide", !found);
  // one below the other only where the graph stays comfortable above both
  const stacked = wide && space > STACKED && widthOf(table.levels) > wide;
  main.classList.toggle("mg-stack", Boolean(stacked));
  main.classList.toggle("mg-under", Boolean(under));
  main.style.setProperty("--mg-side", `${found?.side ?? 0}px`);
  if (wide) right.style.setProperty("--mg-side", `${Math.floor(wide)}px`);
  table.fit();
  const boxes = [...root.querySelectorAll(LIMITED)];
  const limit = (box, space) => {
    box.style.setProperty("--mg-screen", `${tall}px`);
    box.style.setProperty("--mg-space", space ? `${Math.round(space)}px` : "9999px");
  };
  boxes.forEach((box) => limit(box));
  if (stage && graph) {
    main.style.setProperty("--mg-together", `${graph.together(VIEW_SHARE * across)}px`);
    // then one line of code
    if (graph.smallOnStage()) root.classList.add("mg-tight");
  }
  if (graph) limit(graph.scroll, !stage && spaceOfGraph(found, under));
  const moved = graph?.rearranged(stage);
  if (stage) graph?.fill();
  else graph?.fit();
  // a phone scrolls, but the row that is written is on its first screen; or all rows below that
  if (!stage && isPhone(root) && !tableKept)
    limit(table.box, Math.max(table.least(), spaceFrom(root, table.box)));
  // what is below the graph, or beside it, ends with the window, too
  if (!stage && across >= TWO_COLUMNS)
    for (const box of boxes) limit(box, spaceOf(box));
  return moved;

  function spaceOf(box) {
    const space = spaceFrom(root, box);
    if (box === views.box) return Math.max(LOWEST_GRAPH, space);
    if (box === table.box) return Math.max(LOWEST_TABLE, viewWidth ? TABLE_TOO * space : space);
    const share = viewWidth ? 0 : found?.scrolls ? SOURCE_SHARE : 1;
    return Math.max(LOWEST_SOURCE, (under || share) * space);
  }
  // In one column as much as is left when what stands below has its own height, or that of a few
  // rows where the graph would be small then.
  function spaceOfGraph(found, under) {
    const space = spaceBelow(root, graph);
    if (isPhone(root)) return Math.max(LOWEST, space - table.least() - BETWEEN);
    const rows = LOWEST_TABLE + ITS_HEAD,
      few = Math.max(rows, space - BETWEEN - graph.tall(space - BETWEEN - rows));
    const below = found
      ? under && Math.min(source.box.offsetHeight, SOURCE)
      : Math.min(right.offsetHeight, few);
    const taken = below && across >= TWO_COLUMNS ? below + (found ? ROWS_APART : BETWEEN) : 0;
    return Math.max(LOWEST, Math.min(LOWEST_GRAPH, space - LOWEST_TABLE - BETWEEN), space - taken);
  }
}
