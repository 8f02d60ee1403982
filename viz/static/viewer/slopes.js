// The derivative that a rule multiplies an adjoint or a tangent by: cos x of v̄ · cos x, and 1 of
// v̄ alone.
export function slopeOf(rule) {
  const out = [];
  rule.forEach((token, i) => {
    if (token.text === "·" && rule[i - 1]?.accent) return;
    if (!token.accent) out.push(token);
    else if (rule[i + 1]?.text === "·") return;
    else if (out.at(-1)?.text === "·") out.pop();
    else out.push({ t: "num", value: 1 });
  });
  let depth = 0;
  const closes = out.findIndex(({ text }) => !(depth += text === "(" ? 1 : text === ")" ? -1 : 0));
  return out.length > 2 && out[0].text === "(" && closes === out.length - 1
    ? out.slice(1, -1)
    : out;
}
