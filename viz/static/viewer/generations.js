// The legend of a graph that has nodes of a backward pass, or nodes on which no result depends.

import { stageOf } from "./cards.js";
import { h, s } from "./dom.js";

// swatch(kind, ...parts): a small card in the manner of the graph's.
export function generationsIn(nodes, swatch, t) {
  const word = (node) => (node.stage === "jvp" ? "stageJvp" : `stage${stageOf(node)}`);
  const stages = [
    ...new Map(nodes.filter(stageOf).map((node) => [word(node), stageOf(node)])),
  ].sort((a, b) => a[1] - b[1]);
  const generation = (stage, name, ...more) =>
    h("span", { class: `mg-legend mg-stage-${stage}` }, swatch("stage", ...more), t(name));
  const slants = s("path", { class: "mg-slant", d: "M4 12l8 -10M10 12l8 -10" });
  return [
    stages.length > 0 && generation(0, "stage0"),
    ...stages.map(([name, stage]) => generation(stage, name)),
    nodes.some((node) => node.dangling) && generation(0, "danglingShort", slants),
  ];
}
