// The key that goes from round to round of a loop.

import { columnOf } from "./fold.js";

// As the help lists it.
export const ROUND_KEYS = [["J ⇧J", "keyRound"]];

// The numbers of the steps with which the program, or its reverse pass, comes to a round. A
// contribution is of the round whose operation sends it.
export function roundSteps({ blocks = [], nodes, edges, steps }) {
  const known = new Map(blocks.map((block) => [block.id, block])),
    inside = new Map(nodes.map((node) => [node.id, node.block])),
    senders = new Map(edges.map((edge) => [edge.id, edge.dst])),
    found = [];
  let now = []; // the rounds that the steps are in; a step outside of all of them ends none
  steps.forEach((step, i) => {
    const rounds = [];
    if (step.phase === "seed" && columnOf(step) === "g") now = []; // a reverse pass begins
    let block = known.get(inside.get(senders.get(step.edges?.[0]) ?? step.node));
    for (; block; block = known.get(block.parent)) if (block.kind === "round") rounds.push(block);
    if (rounds.every((round) => now.includes(round))) return;
    now = rounds;
    found.push(i + 1);
  });
  return found;
}
