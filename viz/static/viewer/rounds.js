// The blocks of the program around a node, and what a round of a loop is called.

const DEEPEST = 12; // blocks inside one another that are told; a recursion goes deeper

// The blocks that count, the outermost first.
export function blockPath(blocks, id, counts) {
  const path = [];
  for (let block = blocks.get(id); block; block = blocks.get(block.parent))
    if (counts(block)) path.unshift(block.id);
  return path.slice(0, DEEPEST);
}

export function roundText(blocks, { round: i, parent }, t) {
  const { rounds: n } = blocks.get(parent);
  return t(n ? "roundOf" : "roundNumber", { i, n });
}

// A function that names the rounds of the loops around a node, the outermost first, and gives the
// line of the innermost loop.
export function roundsOf(trace, t) {
  const blocks = new Map((trace.blocks ?? []).map((block) => [block.id, block])),
    inside = new Map(trace.nodes.map((node) => [node.id, node.block])),
    isRound = ({ kind }) => kind === "round";
  return (id) => {
    const rounds = blockPath(blocks, inside.get(id), isRound).map((one) => blocks.get(one));
    return {
      told: rounds.map((one) => roundText(blocks, one, t)).join(t("comma")),
      line: blocks.get(rounds.at(-1)?.parent)?.line,
    };
  };
}
