// What the page shows, as its address: #f=log(x1)+x1*x2&x1=2&x2=5&mode=both&d.x1=1&step=17&stage. A
// variable whose name is one of the address's own words has a dot before it.

const OWN_WORDS = new Set(["f", "mode", "step", "views", "stage"]);

const escaped = (text) =>
  encodeURIComponent(text).replace(/%(2B|2F|2C|3D|3B|3A)/g, (code) => decodeURIComponent(code));

function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a link that was cut off
  }
}

// Texts by the names of variables. It inherits nothing: `toString` is a name, too.
export const byName = (pairs) => Object.assign(Object.create(null), Object.fromEntries(pairs));

// state: {f, values, mode, seeds, step, views, stage}; values and seeds by name, as they are typed.
export function toAddress({ f, values, mode, seeds, step, views, stage }) {
  const parts = [`f=${escaped(f)}`];
  for (const [name, text] of Object.entries(values))
    parts.push(`${OWN_WORDS.has(name) ? "." : ""}${escaped(name)}=${escaped(text)}`);
  if (mode !== "both") parts.push(`mode=${mode}`);
  for (const [name, text] of Object.entries(seeds ?? {}))
    parts.push(`d.${escaped(name)}=${escaped(text)}`);
  if (views?.length) parts.push(`views=${views.join(",")}`);
  if (step) parts.push(`step=${step}`);
  if (stage) parts.push("stage");
  return `#${parts.join("&")}`;
}

// The state that an address says; null where it names no function.
export function fromAddress(hash) {
  const found = { values: byName([]), seeds: null, mode: "both", step: 0, views: [] };
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, ...rest] = part.split("="),
      name = unescaped(key),
      text = unescaped(rest.join("="));
    if (name === "f") found.f = text;
    else if (name === "mode") found.mode = text;
    else if (name === "views") found.views = text.split(",").filter((one) => /^\w+$/.test(one));
    else if (name === "step") found.step = Math.max(0, Math.trunc(Number(text)) || 0);
    else if (part === "stage") found.stage = true;
    else if (name.startsWith("d.")) (found.seeds ??= byName([]))[name.slice(2)] = text;
    else if (name) found.values[name.replace(/^\./, "")] = text;
  }
  if (!["primal", "forward", "reverse", "both"].includes(found.mode)) found.mode = "both";
  return found.f === undefined ? null : found;
}
