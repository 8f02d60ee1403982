// What is shown, to hand on: as a link, as a picture, as a command for a terminal.

import { h } from "../../static/viewer/dom.js";
import { copied } from "../../static/viewer/hash.js";
import { toAddress } from "./address.js";

export const linkTo = (state) => location.href.replace(/#.*$/s, "") + toAddress(state);
const quoted = (text) => `'${text.replace(/'/g, "'\\''")}'`;

// The command that prints what the page shows.
export function commandOf({ f, values, mode, seeds }) {
  const parts = ["minigrad trace", quoted(f)];
  const bindings = (given) =>
    Object.entries(given).map(([name, text]) => quoted(`${name}=${text}`));
  parts.push(...bindings(values));
  if (mode !== "both") parts.push("--mode", mode);
  if (seeds && ["both", "forward"].includes(mode)) parts.push("--seed", ...bindings(seeds));
  return parts.join(" ").replace(/'([\w.=+-]+)'/g, "$1");
}

export function shareButtons({ state, viewer }) {
  const field = h("textarea", {
    ...{ class: "mgx-copy", readonly: true, hidden: true, rows: "2", "aria-label": "to copy" },
  });
  const button = (text, act) => {
    const made = h(
      "button",
      { class: "mgx-button", onclick: () => act(made, text) },
      text,
    );
    return made;
  };
  const link = button("Copy link", (...own) => copied(linkTo(state()), field, ...own)),
    command = button("Copy command", (...own) => copied(commandOf(state()), field, ...own));
  const svg = button("Save SVG", () => viewer()?.save("svg"));
  return h("div", { class: "mgx-share" }, link, command, svg, field);
}
