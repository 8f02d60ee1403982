// A function as Python or mathematics has it, pasted whole: the formula or program of its body,
// without imports, head, docstring, type hints and return. The rest is read as any other text.

import { GRAMMAR } from "./rules.js";

const DEF_HEAD = /^def \w+\(((?:[^()]|\([^()]*\))*)\)[^:\n]*:/m;
const SHORT =
  /^\s*(?:(?:\w+ *= *)?lambda [^:]*:|(\w+) *\([\w, ]*\) *=(?!=)) *([^\s=][^\n]*?)\s*$/;
const DOCSTRING = /^\s*[rR]?("""|'''|"|')[^]*?\1[ \t]*\n?/;

// The text without the names of modules before functions and constants: np.sin(x).
function withoutModules(text) {
  const { functions, constants } = GRAMMAR,
    known = Object.keys({ ...functions, ...constants }).join("|");
  return text.replace(new RegExp(`\\b(?:[a-z]\\w*\\.)+(?=(?:${known})\\b(?!\\(\\)))`, "g"), "");
}

// The text itself where it is no such function, or one that is not yet written to its end.
export function pasted(text) {
  const short = SHORT.exec(text); // a lambda, or f(x, y) = ...
  if (short && !Object.hasOwn(GRAMMAR.functions, short[1])) return withoutModules(short[2]);
  const head = DEF_HEAD.exec(text) ?? { index: 0, 0: "", 1: "" }; // a body alone has a return
  const given = [...head[1].matchAll(/(\w+)\s*(?::[^,=]*)?=\s*([^,]+)/g)];
  const rest = text.slice(head.index + head[0].length).replace(DOCSTRING, "\n"),
    [body] = (head[0] ? /^.*(?:\n(?:[ \t].*)?)*/ : /^[^]*/).exec(rest),
    lines = body.split("\n").filter((line) => line.trim()),
    [indent] = /^\s*/.exec(lines[0] ?? "");
  const last = lines.findIndex((line) => /^return\b/.test(line.slice(indent.length)));
  if (last < 0 || !/return\s*\S/.test(lines[last])) return text;
  const after = lines.slice(last + 1).findIndex((line) => !/^\s/.test(line.slice(indent.length)));
  if (!head[0] && after >= 0) return text; // which may be on the way to something else
  const own = lines
    .slice(0, after < 0 ? lines.length : last + 1 + after)
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()))
    .map((line) => line.replace(/^(\s*(?!else\b)\w+) *:[^=]*=(?!=)/, "$1 ="))
    .map((line, i) => (i === last ? line.replace(/^return\s+|;?\s*(?:#.*)?$/g, "") : line));
  const defaults = given.map(([, name, value]) => `${name} = ${value.trim()}`);
  return withoutModules([...defaults, ...own].join("\n"));
}
