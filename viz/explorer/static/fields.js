// A field and a slider for each input, and its seed in forward mode.

import { h } from "../../static/viewer/dom.js";
import { FormulaError, numberFrom } from "./engine.js";
import { labelFacts } from "./notation.js";
import { accentedText } from "./text.js";

// The ends of a slider around a value: ten times its size, and at least 10.
function endsAround(value) {
  const size = Math.max(10, 10 ** Math.ceil(Math.log10(Math.abs(value) || 1)));
  return [-size, size];
}

function numberIn(name, text) {
  try {
    return numberFrom(name, text);
  } catch (error) {
    if (error instanceof FormulaError) return null;
    throw error;
  }
}

// A name as the picture writes it, with its number below; accent: that of its letter.
function fieldLabel(name, accent) {
  const { base, sub } = labelFacts(name);
  return h("span", null, accentedText(base, accent), sub && h("sub", null, sub), " =");
}

// Three digits after the point of what a slider of this length can tell apart.
const slid = (value, length) => String(Number(value.toPrecision(length > 100 ? 4 : 3)));

function makeField(name, { changed, seeded }) {
  const text = h("input", {
    ...{ class: "mgx-number", type: "text", inputmode: "text", spellcheck: "false" },
    ...{ autocomplete: "off", "aria-label": `value of ${name}` },
    oninput: () => {
      changed(name, text.value);
      place(text.value);
    },
  });
  const slider = h("input", {
    ...{ class: "mgx-slider", type: "range", step: "any", "aria-label": `${name} by hand` },
    oninput: () => {
      text.value = slid(Number(slider.value), slider.max - slider.min);
      changed(name, text.value);
    },
  });
  const seed = h("input", {
    ...{ class: "mgx-number mgx-seed", type: "text", spellcheck: "false", autocomplete: "off" },
    ...{ "aria-label": `seed: the tangent of ${name}` },
    oninput: () => seeded(name, seed.value),
  });
  const seedBox = h(
    "label",
    {
      class: "mgx-seedbox",
      title:
        `the tangent of ${name}: its part of the direction in which forward mode ` +
        "differentiates",
    },
    fieldLabel(name, "dot"),
    seed,
  );
  function place(value) {
    const number = numberIn(name, value);
    if (number === null) return;
    const at = Number.isFinite(number) ? number : 0; // a slider has no place for others
    if (at < Number(slider.min) || at > Number(slider.max) || slider.min === "")
      [slider.min, slider.max] = endsAround(at).map(String);
    slider.value = String(at);
  }
  const own = h("label", { class: "mgx-value" }, fieldLabel(name), text);
  const element = h("div", { class: "mgx-field" }, own, slider, seedBox);
  [slider.min, slider.max] = ["-10", "10"];
  return {
    element,
    show(value, tangent, forward) {
      if (document.activeElement !== text && text.value !== value) text.value = value;
      if (document.activeElement !== slider) place(value);
      if (document.activeElement !== seed) seed.value = tangent;
      seedBox.hidden = !forward;
    },
  };
}

// changed(name, text): a value was typed or slid; seeded(name, text): a seed.
export function fieldsOf(told) {
  const made = new Map(),
    element = h("div", { class: "mgx-fields", role: "group", "aria-label": "inputs" });
  return {
    element,
    show(names, { values, seeds, mode }) {
      for (const name of names) if (!made.has(name)) made.set(name, makeField(name, told));
      const wanted = names.map((name) => made.get(name).element);
      if (
        wanted.some((one, i) => element.children[i] !== one) ||
        element.children.length !== wanted.length
      )
        element.replaceChildren(...wanted);
      names.forEach((name, i) => {
        const forward = mode === "both" || mode === "forward";
        made.get(name).show(values[name], seeds?.[name] ?? (i ? "0" : "1"), forward);
      });
    },
  };
}
