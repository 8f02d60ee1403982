// The controls: transport, slider with a lane for each pass, chips, the View menu, help.

import { wordsOfArrays } from "./arrays.js";
import { h, icon, iconButton, s } from "./dom.js";
import { columnOf, keeps } from "./fold.js";
import { columnMark, columnName } from "./formulas.js";
import { copied, SAID } from "./hash.js";
import { drawHelp, keyRows } from "./help.js";
import { ROUND_KEYS } from "./round_keys.js";
import { LINE_KEYS } from "./source.js";
import { phaseOf } from "./speech.js";
import { inLanguage } from "./texts.js";

const HELP = [
  ["← →", "keyStep", false],
  ["Home End", "keyEnds"],
  ["PgUp PgDn", "keyPhase", false],
  ...ROUND_KEYS,
  ["Space", "keyPlay", false],
  ["← → PgUp PgDn Space Enter", "keyStage", true],
  ["Q", "keyAsk", true],
  ["B .", "keyDark", true],
  ["+ − 0", "keyZoom"],
  ["F", "stage", false],
  ["F Esc", "keyLeave", true],
  ["← → ↑ ↓", "keyWalk", false],
  ["Enter", "keyEnter", false],
  ...LINE_KEYS,
  ["?", "keyHelp"],
  ["Esc", "keyEsc", false],
];

// The words that a Trace's page uses, each with its meaning: "seed: what …".
function wordsOf(trace, t) {
  const { columns, steps, blocks, jacobian } = trace,
    has = (key) => columns.some((c) => c.key === key),
    frees = steps.some(({ free }) => free?.length);
  const used = [
    ["word_v", has("v")],
    ["word_d", has("d")],
    ["word_g", has("g")],
    ["word_seed", steps.some(({ phase }) => phase === "seed")],
    ["word_local", has("d") || has("g")],
    ["word_freed", frees && keeps(trace)],
    ...wordsOfArrays(trace),
    ["word_round", blocks?.some(({ kind }) => kind === "round")],
    ["word_jacobian", jacobian],
  ];
  return used.filter(([, there]) => there).map(([name]) => t(name).split(/: |：/));
}

const FINEST = 1400; // parts of the slider's length: a lane has no narrower gap

// actions: move(k), drag(k), rest(), by(steps), play(), setSpeed(v), showColumn(key, on),
// showSource(on) or null, explain(on), stage(), picture(kind) or null, link() or null, inLines(on)
// or null, showTable(on) or null, views (the shelf), shown (the columns on view), chosen ({explain,
// source, inLines, speed}: how these stand at first)
// Long: a closure, whose functions share these elements and the state.
export function drawControls(trace, t, id, firstOf, actions) {
  const { columns, steps } = trace,
    n = steps.length;
  const buttons = {
    first: iconButton("first", t, () => actions.move(0)),
    back: iconButton("back", t, () => actions.by(-1)),
    play: iconButton("play", t, actions.play),
    next: iconButton("next", t, () => actions.by(1)),
    last: iconButton("last", t, () => actions.move(n)),
  };
  const range = {
    type: "range",
    min: 0,
    max: n,
    value: 0,
    step: 1,
    class: "mg-slider",
    "aria-label": t("slider"),
  };
  const dragged = () => actions.drag(Number(slider.value)),
    slider = h("input", { ...range, oninput: dragged, onchange: actions.rest });
  const counter = h("span", { class: "mg-counter" });
  const rate = { class: "mg-speed", "aria-label": t("speed"), title: t("speed") };
  const speed = h(
    "select",
    { ...rate, onchange: () => actions.setSpeed(Number(speed.value)) },
    [0.5, 1, 2, 4].map((v) =>
      h("option", { value: v, selected: v === actions.chosen.speed }, `${v}×`),
    ),
  );

  const chip = (c) => {
    const attributes = { class: `mg-chip mg-c-${c.key}`, "data-col": c.key };
    return h(
      "button",
      { ...attributes, onclick: () => actions.move(firstOf.get(c.key)) },
      columnMark(c.key),
      columnName(c, t),
    );
  };
  const chips = columns.filter((c) => firstOf.has(c.key)).map(chip);

  const check = (label, act, on = true) => {
    const input = h("input", { type: "checkbox", checked: on, onchange: () => act(input.checked) });
    return h("label", null, input, h("span", null, label));
  };
  const { views } = actions,
    titles = views.ready.map(({ title }) => inLanguage(title, t)),
    boxes = new Map(
      views.ready.map(({ name }, i) => [
        name,
        check(titles[i], (on) => views.set(name, on), false),
      ]),
    );
  views.onChange((name, on) => {
    boxes.get(name).querySelector("input").checked = on;
  });
  const pictureButton = (kind) => {
    const look = { class: "mg-fold mg-picture", "data-kind": kind },
      copies = kind === "copy";
    const say = (word) => button.replaceChildren(copies ? t(word) : kind.toUpperCase());
    const act = async () => {
      await actions.picture(kind).then(
        () => say("copied"),
        () => say("copyRefused"),
      );
      setTimeout(() => say("copy"), SAID);
    };
    const button = h("button", { ...look, "aria-live": copies && "polite", onclick: act });
    say("copy");
    return button;
  };
  const { link } = actions,
    linked = h("input", {
      ...{ class: "mg-link", readonly: true, hidden: true, "aria-label": t("copyLink") },
      onblur: () => (linked.hidden = true),
    }),
    linkButton = h("button", { class: "mg-fold mg-link", onclick: copyLink }, t("copyLink"));
  async function copyLink() {
    const written = await copied(link(), linked, linkButton, t("copyLink"), t("copied"));
    // the next Space is a step again
    if (written) bar.closest(".mg-root").focus({ preventScroll: true });
  }
  const menu = h(
    "details",
    {
      class: "mg-menu",
      // In a notebook the viewer may end below the window.
      ontoggle: () => menu.open && menu.lastChild.scrollIntoView({ block: "nearest" }),
    },
    h("summary", { class: "mg-btn", "aria-label": t("view"), title: t("view") }, icon("view")),
    h(
      "div",
      { class: "mg-popup" },
      columns.map((c) =>
        check(columnName(c, t), (on) => actions.showColumn(c.key, on), actions.shown.has(c.key)),
      ),
      check(t("explain"), actions.explain, actions.chosen.explain),
      actions.inLines && check(t("inLines"), actions.inLines, actions.chosen.inLines),
      actions.showTable && check(t("tableToo"), actions.showTable, actions.chosen.table),
      actions.showSource && check(t("source"), actions.showSource, actions.chosen.source),
      boxes.size > 0 && h("p", { class: "mg-poptitle" }, t("views")),
      [...boxes.values()],
      actions.picture && h("p", { class: "mg-poptitle" }, t("picture")),
      actions.picture && ["svg", "png", "copy"].map(pictureButton),
    ),
  );

  const help = drawHelp(t, id, (list) => {
    const place = h("dt", null, t("view"), icon("view")),
      menued = titles[0] && [place, h("dd", null, titles.join(t("comma")))],
      words = wordsOf(trace, t).map((one) => [h("dt", null, one[0]), h("dd", null, one[1])]);
    return [list("keys", [keyRows(HELP, t), menued]), list("words", words)];
  });

  // A lane for each column under the slider: which pass is at work when, told by position as well
  // as by colour.
  const lanes = columns.map((c, lane) => {
    const runs = [];
    steps.forEach((step, i) => {
      if (columnOf(step) !== c.key) return;
      if (i - runs.at(-1)?.[1] <= n / FINEST) runs.at(-1)[1] = i + 1;
      else runs.push([i, i + 1]);
    });
    const d = runs.map(([from, to]) => `M${from} ${lane * 5}H${to}v3.4H${from}z`).join("");
    return s("path", { d, class: `mg-c-${c.key}` });
  });
  const area = {
    viewBox: `0 0 ${Math.max(1, n)} ${Math.max(15, columns.length * 5)}`,
    preserveAspectRatio: "none",
  };
  const score = s("svg", { class: "mg-score", ...area, "aria-hidden": "true" }, lanes);

  const bar = h(
    "div",
    { class: "mg-bar", role: "group", "aria-label": t("playback") },
    h("div", { class: "mg-transport" }, Object.values(buttons)),
    h("div", { class: "mg-timeline" }, slider, score),
    counter,
    speed,
    iconButton("stage", t, actions.stage),
    link && [linkButton, linked],
    menu,
    help.button,
  );

  return {
    slider,
    help,
    menu,
    // Closes the menu and the help. Returns whether one was open, or a link is there to copy, which
    // goes with the focus.
    close() {
      const open = menu.open || !linked.hidden;
      if (menu.contains(document.activeElement)) menu.firstChild.focus({ preventScroll: true });
      menu.open = false;
      return help.close() || open;
    },
    chips: h("div", { class: "mg-chips", role: "group", "aria-label": t("phases") }, chips),
    bar,
    update(k, now) {
      for (const [name, end] of [
        ["first", 0],
        ["back", 0],
        ["next", n],
        ["last", n],
      ]) {
        if (k === end) buttons[name].setAttribute("aria-disabled", "true");
        else buttons[name].removeAttribute("aria-disabled");
      }
      slider.value = k;
      slider.style.setProperty("--mg-at", n ? k / n : 0);
      const place = `${k} / ${n}`;
      // the sentence is announced by itself: a focused slider would tell it twice
      slider.setAttribute(
        "aria-valuetext",
        k ? t("stepOf", { k, n, phase: phaseOf(steps[k - 1], t) }) : place,
      );
      counter.textContent = place;
      for (const one of chips) {
        if (one.dataset.col === now) one.setAttribute("aria-current", "step");
        else one.removeAttribute("aria-current");
      }
    },
    playing(on) {
      const name = on ? "pause" : "play";
      buttons.play.replaceChildren(icon(name));
      buttons.play.setAttribute("aria-label", t(name));
      buttons.play.title = t(name);
    },
  };
}
