// The hook of anywidget: JupyterLab, Notebook 7 and everything else that speaks its protocol.

import { keepHash } from "./hash.js";
import { madeOf, mount, withSliders } from "./hosts.js";
import { short } from "./numbers.js";
import { fromBase64, unpacked } from "./packed.js";
import { failed } from "./viewer.js";

// Long: a closure, whose functions share these elements and the state.
function render({ model, el }) {
  let viewer = null,
    asked = 0;
  const save = (name, value) => {
    model.set(name, value);
    try {
      model.save_changes();
    } catch {
      // no kernel: the picture still steps
    }
  };
  // What the reader opened and chose is held in the widget's model, so that it is there when the
  // notebook redraws the output. Of another Trace it means nothing.
  const options = (trace) => {
    const kept = model.get("reader") ?? {},
      of = trace && madeOf(trace);
    return {
      step: model.get("step"),
      lang: model.get("lang"),
      views: viewer?.views() ?? model.get("views"),
      answers: model.get("answers"),
      kept: of && kept.of === of ? kept : null,
      onStep: (k) => save("step", k),
      onAnswers: (list) => save("answers", list),
      onKeep: (state) => save("reader", { ...state, of }),
    };
  };
  function show(trace) {
    const ranges = model.get("ranges"),
      inputs = model.get("inputs") ?? {};
    if (!ranges?.length) {
      viewer?.destroy();
      viewer = mount(el, trace, options(trace));
    } else {
      viewer ??= withSliders(
        el,
        ranges.map(({ name, min, max, value }) => ({
          name,
          min,
          max,
          step: (max - min) / 200,
          value: inputs[name] ?? value,
          text: short,
          place: (to) => to,
          moved: (to) => save("inputs", { ...model.get("inputs"), [name]: to }),
        })),
        null,
        options(trace),
      );
      viewer.show(trace);
    }
  }
  // Unpacking takes a moment, in which a further document may come: only the newest is shown.
  function start() {
    const mine = ++asked,
      newest = (act) => (found) => mine === asked && act(found);
    return unpacked(model.get("packed")).then(
      newest(show),
      newest((error) => {
        viewer = failed(el, error, options());
      }),
    );
  }
  const follow = () =>
    viewer && viewer.step() !== model.get("step") && viewer.go(model.get("step"));
  function speak() {
    viewer?.destroy();
    viewer = null;
    start();
  }
  start();
  model.on("change:packed", start);
  model.on("change:step", follow);
  model.on("change:lang", speak);
  return () => {
    asked++;
    model.off("change:packed", start);
    model.off("change:step", follow);
    model.off("change:lang", speak);
    viewer?.destroy();
  };
}

export { failed, fromBase64, keepHash, mount, unpacked };
export default { render };
