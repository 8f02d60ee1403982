// A function as Python has it, pasted whole: the formula or program of its body, without imports,
// head, docstring, type hints and return. What is left is read as any other text.

import { GRAMMAR } from "./rules.js";

const DEF_HEAD = /^def \w+\(((?:[^()]|\([^()]*\))*)\)[^:\n]*:/m;
const LAMBDA_HEAD = /^\s*(?:\w+ *= *)?lambda [^:]*:([^\n]+)\s*$/;
const DOCSTRING = /^\s*[rR]?("""|'''|"|')[^]*?\1[ \t]*\n?/;

// The text without the names of modules before functions and constants: np.sin(x).
function withoutModules(text) {
  const { functions, constants } = GRAMMAR,
    known = Object.keys({ ...functions, ...constants }).join("|");
  return text.replace(new RegExp(`\\b(?:[a-z]\\w*\\.)+(?=(?:${known})\\b(?!\\(\\)))`, "g"), "");
}

// The text itself where it is no such function, or one that is not yet written to its end.
export function pasted(text) {
  const short = LAMBDA_HEAD.exec(text);
  if (short) return withoutModules(short[1].trim());
  const head = DEF_HEAD.exec(text);
  if (!head) return text;
  const given = [...head[1].matchAll(/(\w+)\s*(?::[^,=]*)?=\s*([^,]+)/g)];
  const rest = text.slice(head.index + head[0].length).replace(DOCSTRING, "\n"),
    [body] = /^.*(?:\n(?:[ \t].*)?)*/.exec(rest),
    lines = body.split("\n").filter((line) => line.trim()),
    [indent] = /^\s*/.exec(lines[0] ?? "");
  const last = lines.findIndex((line) => /^return\b/.test(line.slice(indent.length)));
  if (last < 0 || !/return\s*\S/.test(lines[last])) return text;
  const after = lines.slice(last + 1).findIndex((line) => !/^\s/.test(line.slice(indent.length)));
  const own = lines
    .slice(0, after < 0 ? lines.length : last + 1 + after)
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()))
    .map((line) => line.replace(/^(\s*(?!else\b)\w+) *:[^=]*=(?!=)/, "$1 ="))
    .map((line, i) => (i === last ? line.replace(/^return\s+|;?\s*(?:#.*)?$/g, "") : line));
  const defaults = given.map(([, name, value]) => `${name} = ${value.trim()}`);
  return withoutModules([...defaults, ...own].join("\n"));
}
