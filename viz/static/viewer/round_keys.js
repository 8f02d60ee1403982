// The key that goes from round to round of a loop.

import { columnOf } from "./fold.js";

// As the help lists it.
export const ROUND_KEYS = [["J ⇧J", "keyRound"]];

// The numbers of the steps with which the program, or its reverse pass, comes to a round. A
// contribution is of the round whose operation sends it.
function roundSteps({ blocks = [], nodes, edges, steps }) {
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

// To the next round or, with back, the previous one; on the stage to its first question, but where
// predict mode asks.
export function toRound(trace, back, clock, stage) {
  const { steps } = trace,
    asks = (k) => stage.on() && stage.deserves(steps[k - 1]),
    first = (k) => steps.findIndex((_, i) => i + 1 >= k && asks(i + 1)) + 1 || k;
  const k = clock.at() + (stage.asking() ? 1 : 0),
    found = roundSteps(trace).map(first),
    to = back ? found.findLast((one) => one < k) : found.find((one) => one > k);
  if (!to) return;
  clock.move(asks(to) ? to - 1 : to);
  if (asks(to)) stage.ask(to - 1);
}
