// Another Trace beside this one: where the two agree and where they differ.

import { key } from "./fold.js";

// Of a Trace that stands beside another one: the other's values where they differ, null where it
// has none. shown: those whose own value is final in a state; a sum that grows is not compared.
export function cellsBeside({ beside, steps }) {
  const cells = new Map(
    (beside?.cells ?? []).map(([node, column, value]) => [key(node, column), value]),
  );
  const final = new Map();
  if (cells.size)
    steps.forEach((step, i) => {
      for (const [node, column] of step.writes ?? []) final.set(key(node, column), i + 1);
    });
  const shown = (cell, { taken }) => (taken >= final.get(cell) ? cells.get(cell) : undefined);
  return { get: (cell) => cells.get(cell), shown };
}

// Whether what is known of some nodes agrees with the other Trace.
export function markBeside({ classList }, ids, { beside, columns }, theirs, state) {
  const cells = ids.flatMap((id) => columns.map((c) => key(id, c.key))),
    known = cells.filter((one) => state.has(one)),
    differs = known.some((one) => theirs.shown(one, state) !== undefined),
    side = ids.every((id) => id in beside.only) ? beside.only[ids[0]] : null;
  classList.toggle("mg-unlike", differs);
  classList.toggle("mg-agrees", known.length > 0 && !differs && side === null);
  classList.toggle("mg-only-first", side === 0);
  classList.toggle("mg-only-second", side === 1);
}
