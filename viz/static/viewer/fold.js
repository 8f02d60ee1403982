// Folding: the state after k steps, from the nearest keyframe.

import constants from "./constants.json" with { type: "json" };

export const nodesOf = ({ nodes }) => new Map(nodes.map((node) => [node.id, node]));
export const key = (node, column) => node + "\u0000" + column;

// What is known after some steps: cells (key -> value), nodes born and freed, entries of a
// Jacobian ("mode row,column" -> value). taken: how many steps.
class State extends Map {
  constructor(other, growing = []) {
    super(other ?? []);
    this.unborn = new Set(other?.unborn ?? growing);
    this.freed = new Set(other?.freed ?? []);
    this.entries = new Map(other?.entries ?? []);
    this.taken = other?.taken ?? 0;
  }

  take(step, passes) {
    this.taken += 1;
    for (const column of step.clear ?? [])
      for (const name of [...this.keys()]) if (name.endsWith("\u0000" + column)) this.delete(name);
    for (const [node, column, value] of step.writes ?? []) this.set(key(node, column), value);
    for (const node of step.add ?? []) this.unborn.delete(node);
    for (const node of step.keep ?? []) this.freed.delete(node);
    for (const node of step.free ?? []) this.freed.add(node);
    for (const [row, column, value] of step.entries ?? [])
      this.entries.set(`${passes[step.pass]?.mode} ${row},${column}`, value);
  }
}

export function folder(trace) {
  const { steps, passes = [] } = trace,
    every = Math.max(64, Math.ceil(4 * Math.sqrt(steps.length)));
  const running = new State(
      null,
      steps.flatMap((step) => step.add ?? []),
    ),
    frames = [new State(running)];
  steps.forEach((step, i) => {
    running.take(step, passes);
    if ((i + 1) % every === 0) frames.push(new State(running));
  });
  return (k) => {
    const state = new State(frames[Math.floor(k / every)]);
    for (const step of steps.slice(Math.floor(k / every) * every, k)) state.take(step, passes);
    return state;
  };
}

// What a Trace is made of, but for its values, as text.
export function structureOf({ title, seed, layout, steps, ...rest }) {
  const bare = steps.map(({ formula, say, contribs, entries, writes = [], ...fixed }) => [
    ...[fixed, writes.map(([id, column]) => [id, column])],
  ]);
  return JSON.stringify([rest, Boolean(layout), bare]);
}

// Whether values are kept for a pass backward: one runs in this Trace, or lets something go.
export const keeps = ({ nodes, columns, steps }) =>
  nodes.some((node) => node.saved?.length) &&
  (columns.some((c) => c.key === "g") || steps.some((step) => step.free?.length));

// The nodes whose values an engine's graph does not keep.
export const unkeptOf = ({ steps }) =>
  new Set(
    steps
      .filter((step) => step.phase === "primal" && !step.writes[0] && !step.fails)
      .map((step) => step.node),
  );

export const columnOf = (step) => step.writes?.[0]?.[1] ?? constants.phases[step.phase] ?? "v";
