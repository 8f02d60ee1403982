// Keys pressed inside an element stay inside.

// JupyterLab walks from a key's target upward and tests its shortcuts at every element, until it
// meets this attribute. A shortcut that asks for a focused button matches at the target itself, so
// the target must have the attribute: it gets it with the focus.
const QUIET = "data-lm-suppress-shortcuts";

export function keepKeys(root) {
  root.setAttribute(QUIET, "true");
  root.addEventListener("focusin", (event) => event.target.setAttribute(QUIET, "true"));
  // A notebook that hears a key moves the focus to its active cell.
  root.addEventListener("keydown", (event) => event.stopPropagation());
  return root;
}
