// The Jacobian matrix, filled by columns (a pass of forward mode each) or by rows (a pass of
// reverse mode each), with a count of the work: one product for each local derivative that a pass
// multiplies with. The count goes with the steps: which mode needs fewer is for the reader to
// guess.

import { h, tableHead } from "../dom.js";
import { short } from "../numbers.js";

export const jacobianView = {
  name: "jacobian",
  title: { en: "Jacobian matrix", zh: "雅可比矩阵" },
  ready: (trace) => Boolean(trace.jacobian),
  asked: () => true,
  // Long: a closure, whose functions share these elements and the state.
  make({ trace, t }) {
    const { rows, columns } = trace.jacobian,
      passes = trace.passes ?? [],
      modes = ["forward", "reverse"].filter((mode) => passes.some((p) => p.mode === mode));
    const counts = { forward: [0], reverse: [0] };
    for (const step of trace.steps) {
      const mode = passes[step.pass]?.mode;
      for (const one of modes)
        counts[one].push(counts[one].at(-1) + (mode === one ? (step.contribs ?? []).length : 0));
    }
    const parts = modes.map((mode) => {
      const cells = rows.map(() =>
        columns.map(() =>
          h("td", { class: `mg-num mg-entry mg-c-${mode === "forward" ? "d" : "g"}` }),
        ),
      );
      const head = tableHead(
        h("td"),
        columns.map((name) => h("th", { scope: "col", class: "mg-num" }, `∂/∂${name}`)),
      );
      const body = h(
        "tbody",
        null,
        rows.map((name, i) => h("tr", null, h("th", { scope: "row" }, `∂${name}`), cells[i])),
      );
      const said = h("p", { class: "mg-sumup" });
      const mine = passes
        .map((p, i) => [p, i])
        .filter(([p]) => p.mode === mode)
        .map(([, i]) => i);
      return {
        mode,
        cells,
        said,
        mine,
        ended: trace.steps.findLastIndex((step) => mine.includes(step.pass)),
        box: h(
          "div",
          { class: "mg-matrix" },
          h("p", { class: "mg-arrayhead" }, t(mode === "forward" ? "byColumns" : "byRows")),
          h("table", { class: "mg-table mg-jacobian" }, head, body),
          said,
        ),
      };
    });
    const found = h("p", { class: "mg-found", role: "status" });
    return {
      box: h(
        "div",
        null,
        h(
          "div",
          { class: "mg-matrices" },
          parts.map((p) => p.box),
        ),
        found,
      ),
      update(k, step, state) {
        const fresh = new Set(
          (step?.entries ?? []).map(([i, j]) => `${passes[step.pass]?.mode} ${i},${j}`),
        );
        found.textContent = (step?.entries ?? [])
          .map(([i, j, value]) =>
            t("jacobianFound", { row: rows[i], column: columns[j], value: short(value) }),
          )
          .join(" ");
        for (const { mode, cells, said, mine, ended } of parts) {
          cells.forEach((row, i) =>
            row.forEach((cell, j) => {
              const name = `${mode} ${i},${j}`;
              cell.textContent = short(state.entries.get(name));
              cell.classList.toggle("mg-write", fresh.has(name));
            }),
          );
          const begun = new Set(
            trace.steps
              .slice(0, k)
              .map((one) => one.pass)
              .filter((p) => mine.includes(p)),
          );
          said.textContent = t(k > ended ? "passTotal" : "passCount", {
            k: begun.size,
            n: mine.length,
            products: counts[mode][k],
          });
        }
      },
    };
  },
};
