// What a condition asked, and what follows from its answer, in words.

export const questionOf = (loop) => (loop ? "asksWhile" : "asksIf");
export const answerOf = ({ answer }, t) => t(answer ? "yes" : "no");

// What follows from a condition: the lines that run and those that do not. Where both stand in one
// line, nothing.
export function outcome({ answer, loop, runs, skips, computes }, t) {
  if (computes) return t("computesOne", { one: computes[0], other: computes[1] });
  if (loop) return t(answer ? "decidesAgain" : "decidesEnds");
  if (runs && skips && runs[0] === skips[0] && runs[2] === skips[2]) return "";
  const say = ([a, , b], one, many) => t(a === b ? one : many, { a, b }),
    ran = runs && say(runs, "lineRuns", "linesRun"),
    left = skips && say(skips, "lineSkipped", "linesSkipped");
  return ran && left ? t("andSkipped", { runs: ran, skips: left }) : (ran ?? left ?? "");
}
