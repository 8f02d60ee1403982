// The hook of anywidget: JupyterLab, Notebook 7 and everything else that speaks its protocol.

import { failed, mount, withSliders } from "./hosts.js";
import { short } from "./numbers.js";
import { fromBase64, unpacked } from "./packed.js";

function render({ model, el }) {
  let viewer = null, asked = 0;
  const save = (name, value) => {
    model.set(name, value);
    try {
      model.save_changes();
    } catch {
      // no kernel: the picture still steps
    }
  };
  const options = () => ({
    step: model.get("step"), lang: model.get("lang"), views: viewer?.views() ?? model.get("views"), answers: model.get("answers"),
    onStep: (k) => save("step", k), onAnswers: (list) => save("answers", list),
  });
  function show(trace) {
    const ranges = model.get("ranges");
    if (!ranges?.length) {
      viewer?.destroy();
      viewer = mount(el, trace, options());
    } else {
      viewer ??= withSliders(el, ranges.map(({ name, min, max, value }) => ({
        name, min, max, step: (max - min) / 200, value, text: short, moved: (to) => save("inputs", { ...model.get("inputs"), [name]: to }),
      })), null, options());
      viewer.show(trace);
    }
  }
  // Unpacking takes a moment, in which a further document may come: only the newest is shown.
  function start() {
    const mine = ++asked, newest = (act) => (found) => mine === asked && act(found);
    return unpacked(model.get("packed")).then(newest(show), newest((error) => { viewer = failed(el, error, options()); }));
  }
  const follow = () => viewer && viewer.step() !== model.get("step") && viewer.go(model.get("step"));
  start();
  model.on("change:packed", start);
  model.on("change:step", follow);
  return () => {
    asked++;
    model.off("change:packed", start);
    model.off("change:step", follow);
    viewer?.destroy();
  };
}

export { failed, fromBase64, mount, unpacked };
export default { render };
