// Stage mode, for a lecture: the whole screen for the graph, one line of arithmetic and the line of
// code. Before each step stands its question, what comes next; the next key gives the answer.

const IDLE = 1500; // milliseconds without a move after which the pointer is hidden

// parts: the clock, the panel, the graph, the source; arrange(): the size has changed; redraw():
// shows the present step again; tint(step): the colours are those of its pass.
// Long: a closure, whose functions share the state.
export function makeStage(root, trace, { clock, panel, graph, source, arrange, redraw, tint }) {
  const { steps } = trace;
  let on = false,
    questions = true,
    asking = false,
    idle = 0; // runs out where the pointer rests

  function pointed() {
    clearTimeout(idle);
    root.classList.remove("mg-idle");
    if (on) idle = setTimeout(() => root.classList.add("mg-idle"), IDLE);
  }
  root.addEventListener("pointermove", pointed);

  function set(to) {
    if (to === on) return;
    on = to;
    root.classList.toggle("mg-stage", on);
    pointed();
    // a frame may not be allowed to fill the screen: then it fills itself
    if (on) {
      root.focus({ preventScroll: true }); // what had it may be hidden on the stage
      root.requestFullscreen?.().catch(() => {});
    } else if (document.fullscreenElement === root) document.exitFullscreen();
    redraw();
    arrange();
  }
  const closed = () => !document.fullscreenElement && set(false);
  root.addEventListener("fullscreenchange", closed);

  function ask(step) {
    asking = true;
    root.classList.add("mg-question-now");
    tint(step);
    panel.ask(step);
    graph?.ask(step);
    source?.light(source.about(step), step.line);
  }
  // What a step only states (an input, a seed, what is freed) asks nothing; nor does a step that
  // predict mode asks for.
  const deserves = (step) =>
    questions && !clock.held() && step && step.phase !== "seed" && (step.edges ?? []).length > 0;
  function next() {
    const step = steps[clock.at()];
    if (!asking && deserves(step)) return ask(step);
    clock.move(clock.at() + 1);
  }
  function back() {
    if (asking) redraw();
    else clock.move(clock.at() - 1);
  }
  return {
    set,
    next,
    back,
    on: () => on,
    asks: () => on && questions,
    question() {
      questions = !questions;
      redraw();
    },
    // A step is drawn: the question is over.
    drawn() {
      asking = false;
      root.classList.remove("mg-question-now");
    },
    destroy: () => set(false),
  };
}
