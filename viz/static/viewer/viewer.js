// Everything together: the clock that all views follow, linked highlighting, keys.

import { arrangeParts, isPhone, windowOf } from "./arrange.js";
import { pickEntry } from "./arrays.js";
import { markDifference } from "./beside.js";
import { drawControls } from "./bar.js";
import { makeClock } from "./clock.js";
import { h, nodeAt, note, onceDrawn } from "./dom.js";
import { columnOf, folder, key, structureOf } from "./fold.js";
import { seedsOf } from "./formulas.js";
import { drawGraph, touched } from "./graph.js";
import { linkHighlights } from "./highlight.js";
import { listenKeys } from "./keys.js";
import { drawPanel } from "./panel.js";
import { pictureOf, savePicture } from "./picture.js";
import { problem } from "./problem.js";
import { keepKeys } from "./quiet.js";
import { drawSource } from "./source.js";
import { makeStage } from "./stage.js";
import { drawTable } from "./table.js";
import { translator } from "./texts.js";
import { sayUnseen } from "./unseen.js";
import { viewShelf } from "./views.js";

let count = 0; // viewers on this page so far, for the ids that aria attributes refer to

/**
 * Show a trace in an element.
 * options: step (where to start), onStep(k) (called when the reader moves), lang, theme ("light"
 * or "dark"; default: the host's), heading (true: the title is the page's h1), views (names of
 * those open at first), answers and onAnswers(list) (predict mode's log), differs ({step, node,
 * column, box, tell(on)}: where another Trace parts from this one, step counting from 0, what says
 * so on the stage, and whether it may), kept (what state() gave
 * earlier: the views, groups and columns that the reader had open) and onKeep(state) (called when
 * that changes), stage (true: it begins on the stage) and onStage(on) (called when that is opened
 * or closed), link() (the address that leads to this step; copied on the stage), inputs
 * ({has(name), set(name, value)}: those that can be moved).
 * Returns {go(k), step(), length, root, views(), state(), stage(on), renew(trace), save(kind),
 * destroy()};
 * renew shows a Trace that differs in its values alone in the same picture, and returns whether it
 * did; save hands the reader a picture ("svg", "png" or "copy").
 */
export function mountTrace(el, trace, options = {}) {
  const t = translator(options.lang);
  const wrong = problem(trace);
  if (wrong) return failure(el, t, wrong, options);
  try {
    return show(el, trace, options, t);
  } catch (error) {
    return failed(el, error, options);
  }
}

// In place of what could not be read or shown.
export const failed = (el, error, options = {}) =>
  failure(
    el,
    translator(options.lang),
    `${error?.name ?? "Error"}: ${error?.message ?? error}`,
    options,
  );

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
    renew: () => false,
    destroy: () => root.remove(),
  };
}

// Long: a closure, whose functions share these elements and the state.
function show(el, given, options, t) {
  const trace = { ...given, steps: [...given.steps] }, // renew() puts other values in it
    { columns, steps } = trace,
    n = steps.length,
    stateAt = (k) => fold(k),
    kept = options.kept ?? {};
  const shown = new Set(
    columns.map((c) => c.key).filter((column) => !kept.hidden?.includes(column)),
  );
  const firstOf = new Map(); // column key -> number of its first step
  steps.forEach((step, i) => firstOf.has(columnOf(step)) || firstOf.set(columnOf(step), i + 1));
  const marks = [...new Set([0, ...firstOf.values(), n])].sort((a, b) => a - b);
  const chosen = {
    ...{ explain: true, source: true, inLines: true, speed: 1, table: false },
    ...Object.fromEntries(CHOICES.filter((name) => name in kept).map((name) => [name, kept[name]])),
  };
  let begun = false, // the parts are there and may be drawn
    settled = false, // the reader's choices from here on are told to the host
    dragged = null, // runs out where the dragged slider rests
    arrangedAt = [], // the width of the viewer, the height of its window
    smoothly = true, // how the picture moves to the present step, when the task has drawn it
    fold = folder(trace),
    structure = null; // of this Trace, once another one has been compared with it

  const clock = makeClock(n, {
    speed: () => chosen.speed,
    draw: drawn,
    told(k) {
      if (stage.on()) close();
      options.onStep?.(k);
    },
    playing: announce,
  });
  const graph = trace.layout
    ? drawGraph(trace, t, regrouped, {
        space: el.clientWidth - 38,
        groups: kept.groups,
        following: kept.following,
        broken: chosen.inLines,
      })
    : null;
  const { host, places } = hostOfViews();
  const views = viewShelf(host, [...(trace.views ?? []), ...(options.views ?? [])], kept.views);
  host.views = views;
  views.onChange((name, on) => {
    tell();
    if (!settled) return;
    arrange();
    controls.close(); // the menu would cover it
    if (on) views.bring(name);
  });
  const mark = () =>
    markDifference(root, graph, options.differs, clock.at(), clock.held() || stage.asks());
  const table = drawTable(trace, t, jumpTo, graph, mark),
    source = drawSource(trace, t, clock),
    panel = drawPanel(trace, t, stateAt, options.inputs, host);
  const controls = drawControls(trace, t, `mg-help-${++count}`, firstOf, actions());
  const named = h(options.heading ? "h1" : "p", { class: "mg-title" }),
    seeded = h("p", { class: "mg-seeds" });
  const { root, main } = builtRoot();
  say();
  const hovered = linkHighlights(root, graph, controls, lightSource);
  const redraw = () => begun && draw(false);
  const stage = makeStage(root, trace, {
    ...{ clock, arrange, redraw, told: options.onStage, answered: views.next, close },
  });
  const present = () => stage.asking() ?? steps[clock.at() - 1],
    about = () => (views.asks() ? steps[clock.at()] : present()); // what is asked for

  // Closes what lies over the picture. Returns whether something did.
  function close() {
    const open = [panel.close(), controls.close()].includes(true);
    // there the keys are those of the stage
    if (open && stage.on() && controls.bar.contains(document.activeElement)) host.focus();
    return open;
  }

  // What the further views may use: the clock, the graph, and a log of answers.
  function hostOfViews() {
    const answers = [...(options.answers ?? [])],
      places = { ...kept.places };
    const host = {
      ...{ trace, t, stateAt, graph },
      width: () => root.clientWidth,
      ...{ at: clock.at, move: clock.move, advance: clock.advance, gate: clock.gate },
      answers: () => answers,
      // What a view wants to find again when it is opened again.
      placeOf: (view) => places[view],
      keep: (view, place) => {
        places[view] = place;
        tell();
      },
      redraw: () => redraw(),
      focus: () => root.focus({ preventScroll: true }),
      log(entry) {
        answers.push(entry);
        options.onAnswers?.([...answers]);
      },
    };
    return { host, places };
  }

  // What the controls do.
  function actions() {
    return {
      ...{ shown, chosen, views },
      ...{ move: clock.move, play: clock.play, by: (d) => clock.move(clock.at() + d) },
      ...{ drag, rest },
      setSpeed: (v) => choose("speed", v),
      explain: (on) => {
        root.classList.toggle("mg-terse", !on);
        choose("explain", on);
      },
      stage: () => stage.set(!stage.on()),
      picture: graph && save,
      link: options.link,
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
    };
  }
  function choose(name, value) {
    chosen[name] = value;
    tell();
  }
  function state() {
    return {
      views: views.names(),
      groups: graph?.opened() ?? [],
      following: graph?.following() ?? true,
      hidden: columns.map((c) => c.key).filter((column) => !shown.has(column)),
      ...chosen,
      places: { ...places },
    };
  }
  function tell() {
    if (settled) options.onKeep?.(state());
  }

  function builtRoot() {
    named.addEventListener("click", () => named.classList.toggle("mg-whole"));
    const side = h("div", { class: "mg-side" }, table.box, views.box);
    const main = h(
      "div",
      { class: "mg-main" },
      h("div", { class: "mg-left" }, graph?.box ?? note(t("noLayout"))),
      h("div", { class: "mg-right" }, source?.box, side),
    );
    const region = { class: "mg-root", tabindex: "-1" },
      said = trace.error && t(trace.error.line ? "failsAt" : "failsWith", trace.error);
    const root = h(
      "section",
      { ...region, lang: t.lang, "data-theme": options.theme },
      h("div", { class: "mg-top" }, h("div", { class: "mg-head" }, named, seeded), controls.chips),
      said && h("p", { class: "mg-error", role: "note" }, said),
      ...[controls.bar, controls.help.box, views.beside, panel.box, panel.meaning, main],
      options.differs?.box,
    );
    return { root, main };
  }

  // What stands above the picture.
  function say() {
    const title = String(trace.title || t("untitled")),
      seeds = trace.passes?.length ? [] : seedsOf(trace, t); // each of several says its own
    named.textContent = named.title = title;
    root.setAttribute("aria-label", t("viewer", { title }));
    seeded.replaceChildren(...seeds);
    seeded.hidden = !seeds.length;
  }
  // The further views keep what they made of the values: they need a new viewer.
  function renew(other) {
    if (views.names().length || other?.steps?.length !== n) return false;
    structure ??= structureOf(trace);
    if (structureOf(other) !== structure) return false;
    const { title, seed, layout } = other,
      moved = JSON.stringify(layout) !== JSON.stringify(trace.layout);
    Object.assign(trace, { title, seed, layout });
    other.steps.forEach((step, i) => (steps[i] = step));
    fold = folder(trace);
    say();
    panel.renew();
    if (moved) graph.build();
    const wider = table.renew();
    draw(false);
    if (moved || wider) arrange();
    return true;
  }

  function arrange() {
    if (!root.clientWidth) return; // not on the page yet, or hidden: the observer calls again
    arrangedAt = [root.clientWidth, windowOf(root)];
    root.classList.toggle("mg-low", arrangedAt[1] < LOW_WINDOW);
    views.reserve();
    panel.reserve(root);
    const moved = arrangeParts(root, main, {
      ...{ graph, table, source, views, stage: stage.on(), tableKept: chosen.table },
    });
    graph?.arrange(shown);
    if (moved) draw(false);
    else follow(false);
  }
  function follow(smooth) {
    if (!settled) return; // nothing is laid out yet
    smoothly &&= smooth;
    onceDrawn(reach);
  }
  function reach() {
    const step = present(),
      smooth = smoothly;
    smoothly = true;
    attempt(() => {
      panel.reach();
      source?.follow();
      const seen = [about(), step].flatMap(touched); // those that fit, in order
      graph && sayUnseen(host, !stage.asking() && step, graph.follow(seen, smooth));
      table.follow(step, smooth);
      views.fit(stage.on());
    });
  }
  // Groups were opened or closed: the same step on another picture.
  function regrouped() {
    table.build();
    draw(false);
    arrange();
    tell();
  }
  // The pass of a step has its colour and dash. Returns the column that it fills.
  function tint(step) {
    const wanted = step ? columnOf(step) : "",
      // a Program's Trace has no adjoints
      now = !step || columns.some((c) => c.key === wanted) ? wanted : (columns[0]?.key ?? "");
    root.dataset.phase = step?.phase ?? "";
    return (root.dataset.now = now);
  }
  function draw(smooth) {
    const k = clock.at(),
      asking = stage.asking(),
      step = present(),
      state = stateAt(k);
    const entered = dragged === null && graph?.attend(about());
    if (entered) table.build();
    const now = tint(step);
    const preview = k === 0 && n > 0 && !clock.held() && !stage.asks() ? stateAt(n) : null;
    graph?.update(about(), state, preview, asking ?? views.asks());
    root.classList.toggle("mg-preview", preview);
    table.update(steps[k - 1], state, preview ?? state);
    if (asking) panel.ask(asking);
    else panel.update(k, state, stage.results() ? state : preview);
    controls.update(k, now);
    views.update(k, steps[k - 1] ?? null, state, asking);
    mark();
    lightSource();
    if (entered && settled) arrange();
    follow(smooth);
  }
  // A graph with other groups open is laid out again, which takes longer than the moves of a
  // pointer: while the slider is dragged, its groups stay as they are.
  function drag(k) {
    clearTimeout(dragged);
    dragged = graph?.tree ? 0 : null;
    clock.move(k);
    if (dragged === 0) dragged = setTimeout(rest, REST); // after the picture, which takes its time
  }
  function rest() {
    if (dragged === null) return;
    clearTimeout(dragged);
    dragged = null;
    redraw();
  }
  function drawn(smooth) {
    attempt(() => draw(smooth));
  }
  function attempt(work) {
    try {
      work();
    } catch (error) {
      destroy();
      failed(el, error, options);
    }
  }
  function lightSource() {
    source?.light(hovered(), about(), clock.at());
  }
  function save(kind) {
    const { backgroundColor, color } = getComputedStyle(root),
      step = present(),
      said = step ? panel.say.textContent : "",
      told = [named.textContent, (!stage.asking() && step?.formula) || [], said];
    const text = pictureOf(graph.svg, ...told, backgroundColor, color);
    return savePicture(text, `step-${clock.at()}`, kind);
  }
  function announce(playing) {
    controls.playing(playing);
    for (const e of root.querySelectorAll("[role='status']"))
      // a step a second is too much to be read aloud
      e.setAttribute("aria-live", playing ? "off" : "polite");
  }
  // To the step that has written the cell that is clicked, or that will: without one, what the
  // present pass fills.
  function jumpTo(id, click) {
    if (graph?.toggle(id)) return;
    const k = clock.at(),
      column = click?.target.closest("[data-col]")?.dataset.col,
      wanted = column ?? columnOf(steps[k - 1] ?? {}),
      fills = (step) => step.node === id && columnOf(step) === wanted,
      found = steps.flatMap((step, i) => (fills(step) ? i + 1 : [])),
      written = stateAt(k).has(key(id, wanted)) && found.findLast((i) => i <= k);
    const opens = column && pickEntry(host, id, column, click);
    clock.move(written || (found.find((i) => i > k) ?? found.at(-1) ?? k));
    if (opens) views.set("arrays", true);
  }
  graph?.svg.addEventListener("click", (e) => {
    const id = nodeAt(e.target);
    if (!id) return;
    root.focus({ preventScroll: true }); // on a node the arrow keys would walk the graph
    jumpTo(id, e);
  });
  listenKeys(root, { clock, n, marks, trace, graph, controls, stage, jumpTo, views, close });
  const paper = listenPrint(clock, n, table);

  // the height changes at many a step; that of a phone's window while its page scrolls
  const resized = () =>
    (stage.on() ||
      root.clientWidth !== arrangedAt[0] ||
      (!isPhone(root) && windowOf(root) !== arrangedAt[1])) &&
    arrange();
  const watcher = new ResizeObserver(resized),
    higher = () => requestAnimationFrame(resized); // a notebook's page follows its window
  function destroy() {
    clock.stop();
    clearTimeout(dragged);
    stage.destroy();
    watcher.disconnect();
    removeEventListener("resize", higher);
    paper();
    root.remove();
  }
  el.replaceChildren(keepKeys(root));
  table.show(shown);
  root.classList.toggle("mg-terse", !chosen.explain);
  if (source) source.box.hidden = !chosen.source;
  begun = true;
  clock.go(options.step ?? 0, false);
  views.begin();
  settled = true;
  watcher.observe(root);
  addEventListener("resize", higher);
  arrange();
  stage.set(Boolean(options.stage));
  const { go, at } = clock,
    of = { state, renew, save, destroy, stage: stage.set };
  return { go, root, length: n, step: at, views: views.names, ...of };
}

const LOW_WINDOW = 700; // pixels, as of a notebook on a laptop: less space around the parts
const REST = 150; // milliseconds without a move after which a dragged slider rests
const CHOICES = ["explain", "source", "inLines", "speed", "table"];

// Paper shows the end. Returns a function that ends this.
function listenPrint(clock, n, table) {
  let printed = 0;
  const before = () => {
    printed = clock.at();
    clock.go(n, false);
    table.whole(true);
  };
  const after = () => {
    table.whole(false);
    clock.go(printed, false);
  };
  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
  return () => {
    window.removeEventListener("beforeprint", before);
    window.removeEventListener("afterprint", after);
  };
}
