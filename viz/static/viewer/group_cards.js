// What a group that is closed looks like, and the buttons above a graph that has groups.

import { ROW } from "./arrays.js";
import { CAPTION, HEAD, SIDE, drawRows, frame } from "./cards.js";
import constants from "./constants.json" with { type: "json" };
import { h, s } from "./dom.js";

// A group as one box: a pile of cards.
export function drawGroup(group, box, columns, t, words) {
  const top = box.y - box.h / 2,
    rim = frame(box, constants.card.corner),
    shape = [];
  const heading = s(
    "text",
    { x: box.x, y: top + 20, class: "mg-heading mg-group-name" },
    `▸ ${group.label}`,
  );
  const { rows, ...place } = drawRows(columns, box, top + HEAD + CAPTION, shape, t);
  const element = s(
    "g",
    {
      class: "mg-node mg-group",
      "data-node": group.id,
      tabindex: "-1",
      role: "button",
      "aria-expanded": "false",
    },
    rim(0, "mg-card mg-pile", 6),
    rim(0, "mg-card mg-pile", 3),
    rim(4, "mg-halo"),
    rim(0, "mg-card"),
    heading,
    s("text", { x: box.x, y: top + HEAD + 7, class: "mg-caption" }, words),
    columns.length &&
      s("path", {
        d: `M${box.x - box.w / 2 + 1} ${top + HEAD + CAPTION - 1}h${box.w - 2}`,
        class: "mg-rule",
      }),
    [...rows.values()].map((r) => r.row),
  );
  return { group: element, heading, rows, space: box.w - 12, ...place };
}

export const groupSize = (group, columns, words) => [
  Math.max(
    140,
    Array.from(`▸ ${group.label}`).length * 9 + 2 * SIDE,
    Array.from(words).length * 6 + 2 * SIDE,
    22 + 23 * 8 + 2 * SIDE,
  ),
  HEAD + CAPTION + columns.length * ROW + 8,
];

// The buttons above a graph that has groups, and that of them which follows the step. opened: names
// those that are open; opens: whether all may be open together.
export function groupBar(t, opened, { toggleAll, setFollowing, following, opens }) {
  const button = (name, onclick, more) =>
    h("button", { class: "mg-fold", onclick, ...more }, t(name));
  const followBox = button("following", setFollowing, { "aria-pressed": String(following) }),
    all = opens && button("openAll", () => toggleAll(true)),
    none = button("closeAll", () => toggleAll(false));
  return { bar: h("div", { class: "mg-groups" }, all, none, followBox, opened), followBox };
}
