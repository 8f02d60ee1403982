// Stage mode, for a lecture: the whole screen for the graph, one line of arithmetic and the line of
// code. Before each step stands its question, what comes next; the next key gives the answer, after
// the last step the results.

const IDLE = 1500; // milliseconds without a move after which the pointer is hidden

// arrange(): the size has changed; redraw(): shows the present step, or the question before the
// next one; told(on): the stage is opened or closed; answered(): answers the question of predict
// mode, where it stands here; close(): closes the help and the menu, and returns whether one was
// open.
// Long: a closure, whose functions share the state.
export function makeStage(root, { steps }, { clock, arrange, redraw, told, answered, close }) {
  let on = false,
    questions = true,
    asked = null, // how many steps are done at the question
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
    asked = null;
    lit();
    root.classList.toggle("mg-stage", on);
    pointed();
    // a frame may not be allowed to fill the screen: then it fills itself
    if (on) {
      root.focus({ preventScroll: true }); // what had it may be hidden on the stage
      // a page that was opened by a link may not, either
      if (navigator.userActivation?.isActive !== false)
        root
          .requestFullscreen?.()
          .then(() => on || document.exitFullscreen()) // it was closed meanwhile
          .catch(() => {});
    } else if (document.fullscreenElement === root) document.exitFullscreen();
    redraw();
    arrange();
    told?.(on);
  }
  // Ends the black screen. Returns whether there was one.
  function lit() {
    const dark = root.classList.contains("mg-dark");
    root.classList.remove("mg-dark");
    return dark;
  }
  const leave = () => lit() || close() || set(false);
  // Esc is the browser's own key there
  const closed = () => on && !document.fullscreenElement && leave();
  root.addEventListener("fullscreenchange", closed);

  // What a step only states (an input, a seed, what is freed) asks nothing; nor does a step that
  // predict mode asks for.
  const deserves = (step) =>
    questions && !clock.held() && step && step.phase !== "seed" && (step.edges ?? []).length > 0;
  function ask(k) {
    asked = k;
    close();
    redraw();
  }
  function next() {
    const k = clock.at();
    if (asked === null && (k === steps.length || deserves(steps[k]))) ask(k);
    else if (!answered()) clock.move(k + 1);
  }
  function back() {
    if (asked === null) clock.move(clock.at() - 1);
    else ask(null);
  }
  return {
    ...{ set, next, back, deserves, ask, lit, leave },
    on: () => on,
    asks: () => on && questions,
    question() {
      questions = !root.classList.toggle("mg-quiet");
      ask(null);
    },
    dark: () => root.classList.add("mg-dark"),
    results: () => asked === steps.length,
    // The step that is in question; a question is over when the clock moves.
    asking() {
      if (asked !== clock.at()) asked = null;
      return steps[asked];
    },
    destroy: () => set(false),
  };
}
