// Everything together: the clock that all views follow, linked highlighting, keys.

import { drawControls } from "./bar.js";
import { h, nodeAt } from "./dom.js";
import { columnOf, folder, problem } from "./fold.js";
import { seedsOf } from "./formulas.js";
import { drawGraph } from "./graph.js";
import { drawPanel } from "./panel.js";
import { keepKeys } from "./quiet.js";
import { drawSource } from "./source.js";
import { drawTable } from "./table.js";
import { translator } from "./texts.js";
import { viewShelf } from "./views.js";

// Pixels: the width from which graph and table stand side by side; the least width of the table's
// column, and of a view's in its place; the space between the columns.
const TWO_COLUMNS = 820,
  SIDE_WIDTH = 230,
  VIEW_WIDTH = 340,
  BETWEEN = 16;

let count = 0; // viewers on this page so far, for the ids that aria attributes refer to

/**
 * Show a trace in an element.
 * options: step (where to start), onStep(k) (called when the reader moves), lang, theme ("light" or
 * "dark"; default: the host's), heading (true: the title is the page's h1), views (names of those
 * open at first), answers and onAnswers(list) (predict mode's log), differs ({step, node, column}:
 * where another Trace parts from this one), kept (what state() gave earlier: the views, groups and
 * columns that the reader had open) and onKeep(state) (called when that changes), hosted (true:
 * the host keeps the answers).
 * Returns {go(k), step(), length, root, views(), state(), destroy()}.
 */
export function mountTrace(el, trace, options = {}) {
  const t = translator(options.lang);
  const wrong = problem(trace);
  if (wrong) return failure(el, t, wrong, options);
  try {
    return show(el, trace, options, t);
  } catch (error) {
    return failure(el, t, `${error?.name ?? "Error"}: ${error?.message ?? error}`, options);
  }
}

export function failure(el, t, message, options) {
  const root = h(
    "section",
    { class: "mg-root mg-failed", "data-theme": options.theme, "aria-label": t("errorTitle") },
    h(
      "div",
      { role: "alert" },
      h("p", { class: "mg-title" }, t("errorTitle")),
      h("p", null, message),
    ),
  );
  el.replaceChildren(keepKeys(root));
  return {
    go() {},
    step: () => 0,
    length: 0,
    root,
    views: () => [],
    state: () => ({}),
    destroy: () => root.remove(),
  };
}

function show(el, trace, options, t) {
  const { columns, steps } = trace,
    n = steps.length,
    stateAt = folder(trace),
    kept = options.kept ?? {};
  const shown = new Set(
    columns.map((c) => c.key).filter((column) => !kept.hidden?.includes(column)),
  );
  const firstOf = new Map(); // column key -> number of its first step
  steps.forEach((step, i) => firstOf.has(columnOf(step)) || firstOf.set(columnOf(step), i + 1));
  const marks = [...new Set([0, ...firstOf.values(), n])].sort((a, b) => a - b);
  const chosen = {
      explain: kept.explain ?? true,
      source: kept.source ?? true,
      inLines: kept.inLines ?? true,
      speed: kept.speed ?? 1,
      table: kept.table ?? false,
    },
    places = { ...kept.places };
  let k = 0,
    timer = null,
    hovered = null,
    begun = false,
    settled = false,
    arrangedAt = 0;

  // What the further views may use: the clock, the graph, and a log of answers. A gate may hold the
  // clock back (predict mode does).
  const gates = new Set(),
    answers = [...(options.answers ?? [])];
  const graph = trace.layout
    ? drawGraph(trace, t, regrouped, {
        room: el.clientWidth - 38,
        groups: kept.groups,
        broken: chosen.inLines,
      })
    : null;
  const host = {
    trace,
    t,
    stateAt,
    graph,
    width: () => root.clientWidth,
    at: () => k,
    move,
    advance,
    answers: () => answers,
    hosted: Boolean(options.hosted),
    // What a view wants to find again when it is opened again.
    placeOf: (view) => places[view],
    keep: (view, place) => {
      places[view] = place;
      tell();
    },
    redraw: () => begun && draw(false),
    focus: () => root.focus({ preventScroll: true }),
    gate(limit) {
      gates.add(limit);
      return () => gates.delete(limit);
    },
    log(entry) {
      answers.push(entry);
      options.onAnswers?.([...answers]);
    },
  };
  const views = viewShelf(host, [...(trace.views ?? []), ...(options.views ?? [])], kept.views);
  views.onChange(() => {
    tell();
    if (settled) arrange();
  });
  const table = drawTable(trace, t, jumpTo, graph),
    source = drawSource(trace, t),
    panel = drawPanel(trace, t, stateAt);
  const controls = drawControls(trace, t, `mg-help-${++count}`, firstOf, {
    move,
    play,
    by: (d) => move(k + d),
    setSpeed: (v) => choose("speed", v),
    explain: (on) => {
      root.classList.toggle("mg-terse", !on);
      choose("explain", on);
    },
    shown,
    chosen,
    views,
    inLines:
      graph?.long &&
      ((on) => {
        graph.breakLines(on);
        arrange();
        choose("inLines", on);
      }),
    showSource:
      source &&
      ((on) => {
        source.box.hidden = !on;
        choose("source", on);
      }),
    showTable:
      views.ready.length > 0 &&
      ((on) => {
        choose("table", on);
        arrange();
      }),
    showColumn(column, on) {
      shown[on ? "add" : "delete"](column);
      table.show(shown);
      table.fit();
      graph?.arrange(shown);
      tell();
    },
  });
  function choose(name, value) {
    chosen[name] = value;
    tell();
  }
  function state() {
    return {
      views: views.names(),
      groups: graph?.opened() ?? [],
      hidden: columns.map((c) => c.key).filter((column) => !shown.has(column)),
      ...chosen,
      places: { ...places },
    };
  }
  function tell() {
    if (settled) options.onKeep?.(state());
  }
  const title = String(trace.title || t("untitled")),
    seeds = trace.passes?.length ? [] : seedsOf(trace, t); // each of several passes says its own
  const named = h(options.heading ? "h1" : "p", { class: "mg-title", title }, title);
  named.addEventListener("click", () => named.classList.toggle("mg-whole"));
  const main = h(
    "div",
    { class: "mg-main" },
    h("div", { class: "mg-left" }, graph ? graph.box : h("p", { class: "mg-note" }, t("noLayout"))),
    h(
      "div",
      { class: "mg-right" },
      source?.box,
      h("div", { class: "mg-side" }, table.box, views.box),
    ),
  );
  const region = { class: "mg-root", tabindex: "-1", "aria-label": t("viewer", { title }) };
  const manner = { lang: t.lang, "data-theme": options.theme };
  const root = h(
    "section",
    { ...region, ...manner },
    h(
      "div",
      { class: "mg-top" },
      h(
        "div",
        { class: "mg-head" },
        named,
        seeds.length > 0 && h("p", { class: "mg-seeds" }, seeds),
      ),
      controls.chips,
    ),
    controls.bar,
    controls.help,
    panel.box,
    main,
  );

  // Two columns, where the graph can be read beside the table: the table gives way first. The
  // source stands below the graph where the table's column is too narrow for it.
  function columnsFor() {
    const inner = root.clientWidth - 34,
      flat = graph?.flat() ?? { width: 0, height: 1 };
    if (root.clientWidth < TWO_COLUMNS) return null;
    const least = views.names().length ? VIEW_WIDTH : SIDE_WIDTH,
      hopeless = graph && graph.scaleIn(inner - BETWEEN - least) < graph.legible;
    for (let level = hopeless ? Infinity : 0; level <= table.levels; level++) {
      const side = Math.max(least, chosenTable() ? table.width(level) : 0),
        left = inner - BETWEEN - side,
        scale = graph ? graph.scaleIn(left) : left > SIDE_WIDTH ? 1 : 0;
      if (scale < (level < table.levels - 1 ? graph?.comfortable : graph?.legible)) continue;
      const free = Math.max(0, left - flat.width - 4);
      return { level, side: Math.round(side + Math.min(free, Math.max(0, inner * 0.42 - side))) };
    }
    // a large graph scrolls beside a table that has its width, unless it is long
    const side = Math.round((inner - BETWEEN) / 2.45),
      long = flat.width > 2.6 * flat.height && flat.width > 1.6 * side;
    return long || table.width() > side ? null : { level: 0, side };
  }
  const chosenTable = () => chosen.table || !views.names().length;
  function arrange() {
    if (!root.clientWidth) return; // not on the page yet, or hidden: the observer calls again
    arrangedAt = root.clientWidth;
    panel.reserve(root, k);
    const own = window.parent === window; // the height of a frame says nothing about the screen
    root.style.setProperty("--mg-screen", `${own ? window.innerHeight : screen.availHeight}px`);
    table.box.hidden = !chosenTable();
    const found = columnsFor();
    main.classList.toggle("mg-wide", !found);
    main.classList.toggle("mg-stack", !found && table.width() > 0.57 * (root.clientWidth - 52));
    main.classList.toggle("mg-under", Boolean(found && source && source.width > found.side));
    main.style.setProperty("--mg-side", `${found?.side ?? 0}px`);
    table.fit(found?.level);
    const moved = graph?.rearranged();
    graph?.fit();
    graph?.arrange(shown);
    if (moved) draw(false);
    else follow(false);
  }
  function follow(smooth) {
    graph?.follow(steps[k - 1]?.node, smooth);
    table.follow(steps[k - 1], smooth);
  }
  // Groups were opened or closed: the same step on another picture.
  function regrouped() {
    table.build();
    table.show(shown);
    graph.arrange(shown);
    draw(false);
    arrange();
    tell();
  }
  function draw(smooth) {
    const step = k > 0 ? steps[k - 1] : null,
      state = stateAt(k),
      wanted = step ? columnOf(step) : "";
    // a Program's Trace has no adjoints
    const now = !step || columns.some((c) => c.key === wanted) ? wanted : (columns[0]?.key ?? "");
    root.dataset.now = now;
    root.dataset.phase = step?.phase ?? "";
    graph?.update(step, state, k === 0 && n > 0 && !gates.size ? stateAt(n) : null);
    table.update(step, state);
    panel.update(k, state);
    controls.update(k, now, panel.say.textContent);
    views.update(k, step, state);
    if (options.differs) markDifference(options.differs);
    lightSource();
    follow(smooth);
  }
  function markDifference({ node, column }) {
    for (const e of root.querySelectorAll(".mg-differs")) e.classList.remove("mg-differs");
    graph?.cards().get(graph.stands(node))?.group.classList.add("mg-differs");
    root
      .querySelector(
        `tr[data-node="${CSS.escape(node)}"] td[data-col="${CSS.escape(column ?? "v")}"]`,
      )
      ?.classList.add("mg-differs");
  }
  const lightSource = () =>
    source?.light(hovered ?? steps[k - 1]?.node, hovered ? null : steps[k - 1]?.line);

  // -- moving. go: by the program; advance: by the reader or the player, and told to the host;
  // move: by the reader, who stops the player
  function go(to, smooth = true) {
    const wanted = Math.min(n, Math.max(0, Math.round(Number(to) || 0)));
    k = [...gates].reduce((at, limit) => limit(at), wanted);
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
      const was = k;
      advance(k + 1);
      const on = k < n && k !== was; // a gate may hold the clock back
      timer = setTimeout(on ? tick : stop, on ? 1000 / chosen.speed : 0);
    };
    timer = setTimeout(tick, 350 / chosen.speed);
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
    for (const e of root.querySelectorAll("[role='status']"))
      // a step a second is too much to be read aloud
      e.setAttribute("aria-live", playing ? "off" : "polite");
  }
  function jumpTo(id) {
    if (graph?.isGroup(id)) return graph.toggle(id);
    const touches = (step) => step.node === id || (step.writes ?? []).some(([node]) => node === id);
    for (let i = 0; i < n; i++) if (touches(steps[(k + i) % n])) return move(((k + i) % n) + 1);
  }

  // -- linked highlighting
  function hover(id) {
    if (hovered === id) return;
    hovered = id;
    for (const e of root.querySelectorAll(".mg-hover")) e.classList.remove("mg-hover");
    for (const e of id === null ? [] : root.querySelectorAll("[data-node]"))
      e.classList.toggle("mg-hover", e.dataset.node === id);
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
    if (!graph.isGroup(id)) graph.cards().get(id).group.focus({ preventScroll: true });
    jumpTo(id);
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
    if (kind === "text") return null; // an answer is being typed
    if (graph && ["+", "=", "-", "0"].includes(e.key) && kind !== "SELECT")
      return () => (e.key === "0" ? graph.fit(true) : graph.zoomBy(e.key === "-" ? 0.8 : 1.25));
    if (e.key === "?") return () => controls.toggleHelp();
    if (kind === "SELECT") return null;
    if (node && arrow && !e.shiftKey) return () => graph.walk(node, e.key);
    if (node && (e.key === "Enter" || e.key === " ")) return () => jumpTo(node);
    // another slider keeps its keys
    if (kind === "range" && e.target !== controls.slider) return null;
    if (e.key === " ") return ["BUTTON", "SUMMARY", "checkbox"].includes(kind) ? null : play;
    const before = marks.filter((v) => v < k).at(-1) ?? 0,
      after = marks.find((v) => v > k) ?? n;
    const to = {
      ArrowLeft: k - 1,
      ArrowRight: k + 1,
      Home: 0,
      End: n,
      PageUp: before,
      PageDown: after,
    }[e.key];
    if (to !== undefined) return () => move(to);
    // Up and Down would move the slider's thumb unannounced
    return kind === "range" && arrow ? () => {} : null;
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
  const beforePrint = () => {
    printed = k;
    go(n, false);
  };
  const afterPrint = () => go(printed, false);
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);

  // the height changes at many a step
  const watcher = new ResizeObserver(() => root.clientWidth !== arrangedAt && arrange());
  function destroy() {
    stop();
    watcher.disconnect();
    window.removeEventListener("beforeprint", beforePrint);
    window.removeEventListener("afterprint", afterPrint);
    root.remove();
  }
  el.replaceChildren(keepKeys(root));
  table.show(shown);
  root.classList.toggle("mg-terse", !chosen.explain);
  if (source) source.box.hidden = !chosen.source;
  begun = true;
  go(options.step ?? 0, false);
  views.begin();
  settled = true;
  watcher.observe(root);
  arrange();
  return { go, root, length: n, step: () => k, views: views.names, state, destroy };
}
