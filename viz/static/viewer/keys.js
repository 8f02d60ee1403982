// Which key does what while the focus is inside a viewer.

import { nodeAt } from "./dom.js";
import { toRound } from "./round_keys.js";

// A page just opened has no focus anywhere: its keys go to the one viewer that it shows, which
// shown() gives.
export function listenFirstKey(shown) {
  document.addEventListener("keydown", (event) => {
    if (event.target === document.body) pass(event, shown());
    else passStage(event, shown());
  });
}
function pass(event, { root }) {
  const stepper = root.querySelector("section.mg-root") ?? root; // below sliders or a difference
  stepper.focus({ preventScroll: true });
  if (!stepper.dispatchEvent(new KeyboardEvent("keydown", event))) event.preventDefault();
}
// A slider or a button beside the viewer has no use for the key of the stage.
export function passStage(event, viewer) {
  if (/^f$/i.test(event.key) && event.target.matches("[type=range], button")) pass(event, viewer);
}

// Listens to the keys of a viewer, and closes its menu at a press elsewhere. marks: the steps at
// which phases begin.
// Long: each key has its line.
export function listenKeys(root, parts) {
  const { clock, n, marks, trace, graph, controls, stage, jumpTo, views, close } = parts;
  function leave() {
    if (stage.on()) stage.leave();
    else if (close()) return;
    else if (document.activeElement === root) root.blur();
    else root.focus({ preventScroll: true }); // from what is inside it, to its keys
  }
  // Keys of a step or a phase. On a stage a clicker's keys, Page Down and Page Up, make one step.
  function moving(key) {
    const k = clock.at(),
      before = marks.filter((v) => v < k).at(-1) ?? 0,
      after = marks.find((v) => v > k) ?? n;
    if (stage.on() && ["ArrowRight", "PageDown", " ", "Enter"].includes(key)) return stage.next;
    if (stage.on() && ["ArrowLeft", "PageUp"].includes(key)) return stage.back;
    const to = {
      ArrowLeft: k - 1,
      ArrowRight: k + 1,
      Home: 0,
      End: n,
      PageUp: before,
      PageDown: after,
    }[key];
    return to === undefined ? null : () => clock.move(to);
  }
  // What a key does here, as a function; null leaves it to the browser.
  function action(e) {
    const { tagName, type, readOnly } = e.target,
      kind = tagName === "INPUT" && !readOnly ? type : tagName; // in a link nothing is typed
    const node = graph?.svg.contains(e.target) && !stage.on() ? nodeAt(e.target) : null;
    const arrow = e.key.startsWith("Arrow");
    if (e.key === "Escape") return leave;
    if (stage.on() && e.key.startsWith("Page")) return moving(e.key); // wherever the focus is
    const ofStage = stage.on() && /^[ bqj]$/i.test(e.key); // no answer begins with them
    // an empty answer leaves the keys that move the clock
    if (kind === "text" && (e.target.value || (e.key.length < 2 && !ofStage))) return null;
    if (kind === "text" && !/^[bqj]$/i.test(e.key)) return moving(e.key);
    if (kind === "SELECT") return e.key === "?" ? help : null;
    if (e.key === "?") return help;
    if (/^f$/i.test(e.key)) return () => stage.set(!stage.on());
    if (/^j$/i.test(e.key)) return () => toRound(trace, e.shiftKey, clock, stage);
    if (stage.on() && /^q$/i.test(e.key)) return stage.question;
    if (stage.on() && /^[b.]$/i.test(e.key)) return stage.dark;
    // what an answer begins with goes to its field
    if (views.asks() && /^[-+.(\d]$/.test(e.key))
      return root.querySelector(".mg-answer").focus();
    if (graph && /^[-+=0]$/.test(e.key))
      return () => zoom({ 0: 0, "-": 0.8 }[e.key] ?? 1.25);
    if (node && arrow && !e.shiftKey) return () => graph.walk(node, e.key);
    if (node && (e.key === "Enter" || e.key === " ")) return () => jumpTo(node);
    // another slider keeps its keys
    if (kind === "range" && e.target !== controls.slider) return null;
    const pressed = ["BUTTON", "SUMMARY", "checkbox"].includes(kind);
    if (e.key === " " && !stage.on()) return pressed ? null : clock.play;
    if (pressed && (e.key === " " || e.key === "Enter")) return null;
    // Up and Down would move the slider's thumb unannounced
    return moving(e.key) ?? (kind === "range" && arrow ? () => {} : null);
  }
  const help = () => controls.help.toggle();
  function zoom(by) {
    if (by) graph.zoomAtStep(by);
    else graph.fitAll();
    if (stage.on()) views.fit(true, by);
  }
  for (const kind of ["pointerdown", "focusin"])
    root.addEventListener(kind, ({ target }) => {
      if (target !== root && !controls.menu.contains(target)) controls.menu.open = false;
    });
  root.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
    const act = action(e);
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    if (!stage.lit()) act();
  });
}
