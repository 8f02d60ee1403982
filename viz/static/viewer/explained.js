// What the words of a step mean, a line each: a broadcast that its sentence names, and the
// functions of its formula.

export function explained(step, t) {
  const names = new Set(JSON.stringify(step?.formula)?.match(/(?<="t":"fn","text":")\w+/g));
  return [...(step?.say?.includes("broadcast") ? ["broadcast"] : []), ...names]
    .map((name) => `fn_${name}`)
    .filter((key) => t(key) !== key)
    .map((key) => t(key))
    .join("\n");
}
