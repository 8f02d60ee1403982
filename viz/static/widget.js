// The module that anywidget loads for every widget. The program itself comes compressed, in the
// bytes of a message, and its hook does the rest. It is imported as anywidget imports a module,
// from a blob's address, so that it loads wherever anywidget's own do.

import { inflated } from "./viewer/inflated.js";

// By their text: the widgets of a notebook's page share one module, so that its ids are unique.
const programs = (globalThis.minigradPrograms ??= new Map());

async function programOf(bytes) {
  const text = await inflated(bytes).text();
  if (!programs.has(text)) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const loaded = import(url).finally(() => URL.revokeObjectURL(url));
    programs.set(text, loaded);
  }
  return programs.get(text);
}

async function renderPacked(context) {
  try {
    const { default: hook } = await programOf(context.model.get("program"));
    return hook.render(context);
  } catch (error) {
    context.el.textContent = `${error?.name ?? "Error"}: ${error?.message ?? error}`;
  }
}

export default { render: renderPacked };
