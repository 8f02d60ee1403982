// The hook of anywidget: JupyterLab, Notebook 7 and everything else that speaks its protocol.

import { mount, withSliders } from "./hosts.js";
import { short } from "./numbers.js";

function render({ model, el }) {
  let viewer = null;
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
  function start() {
    const ranges = model.get("ranges");
    if (!ranges?.length) {
      viewer?.destroy();
      viewer = mount(el, model.get("trace"), options());
    } else if (!viewer) {
      viewer = withSliders(el, ranges.map(({ name, min, max, value }) => ({
        name, min, max, step: (max - min) / 200, value, text: short, moved: (to) => save("inputs", { ...model.get("inputs"), [name]: to }),
      })), null, options());
      viewer.show(model.get("trace"));
    } else viewer.show(model.get("trace"));
  }
  const follow = () => viewer.step() !== model.get("step") && viewer.go(model.get("step"));
  start();
  model.on("change:trace", start);
  model.on("change:step", follow);
  return () => {
    model.off("change:trace", start);
    model.off("change:step", follow);
    viewer.destroy();
  };
}

export { mount };
export default { render };
