// From a text to statements in which only formulas, assignments, loops and branches are left: the
// checks of minigrad/expression/checking.py, in its words (GRAMMAR.messages).

import { Parser } from "./parser.js";
import { GRAMMAR } from "./rules.js";
import { FormulaError, KEYWORDS, NotPython } from "./tokens.js";

const PROGRAM = /[\n;]|^\s*(?:for|if)\s.*:|^\s*[\p{L}_][\p{L}\p{N}_]*\s*(?:[-+/]|\*\*?)?=(?!=)/u;
const IN_PROGRAMS = new Set(["for", "in", "if", "elif", "else", "and", "or", "not"]);
const known = Object.hasOwn;
const isFunction = (name) => known(GRAMMAR.functions, name);
const isConstant = (name) => known(GRAMMAR.constants, name);

// How many arguments a function takes: its operations come first.
const arityOf = (name) => GRAMMAR.functions[name].length - 1;

// Whether the first argument of a function is a comparison, which chooses between the others.
export const chooses = (name) => GRAMMAR.choosing.includes(name);

// The columns of Python count characters, those of JavaScript 16-bit units.
export const characterColumn = (line, at) => [...line.slice(0, at)].length;

// mended: from where to where in the line another text may stand, and that text.
export function refusal(key, line, start, width, blanks = {}, mended = null) {
  const given = { anything_else: GRAMMAR.anythingElse, ...blanks };
  const fill = (text) => text.replace(/\{(\w+)\}/g, (_, name) => given[name]);
  const [problem, hint] = GRAMMAR.messages[key].map(fill);
  const column = characterColumn(line, start);
  const wide = Math.max(1, characterColumn(line.slice(start), width));
  const error = new FormulaError(problem, line, column, hint, wide);
  if (mended) error.instead = line.slice(0, mended[0]) + mended[2] + line.slice(mended[1]);
  return error;
}

// The statements of a text: {source, isProgram, body, names}. Raises FormulaError.
export function compileFormula(given) {
  const text = given.replace(/\r\n/g, "\n").trim(),
    isProgram = PROGRAM.test(text);
  if (!text) throw refusal("empty", text, 0, 1);
  checkCharacters(text, isProgram);
  const check = new Check(text);
  try {
    const parser = new Parser(text, isProgram);
    const body = isProgram ? parser.program() : [parser.formula()];
    if (isProgram) check.program(body);
    else check.formula(body[0]);
    return { source: text, isProgram, body, names: [...check.names] };
  } catch (error) {
    if (error instanceof RangeError) throw refusal("deep", text, 0, 1);
    throw error instanceof NotPython ? syntaxError(error, text, isProgram) : error;
  }
}

function checkCharacters(text, isProgram) {
  const most = GRAMMAR.limits.characters,
    commas = (n) => n.toLocaleString("en-US"),
    length = [...text].length;
  if (length > most)
    throw new FormulaError(
      `the formula has ${commas(length)} characters; at most ${commas(most)} are read`,
      text,
      most,
    );
  const refused = isProgram ? /[\r\0\\]|\p{Cs}/u : /[\r\n\0#\\;]|\p{Cs}/u,
    found = refused.exec(text);
  if (found) throw refusal("character", text, found.index, 1, { character: quotedAscii(found[0]) });
}

const NAMED = { "\r": "\\r", "\n": "\\n", "\\": "\\\\" };
function quotedAscii(character) {
  const code = character.charCodeAt(0).toString(16);
  if (character in NAMED) return `'${NAMED[character]}'`;
  if (character < " ") return `'\\x${code.padStart(2, "0")}'`;
  return character > "~" ? `'\\u${code.padStart(4, "0")}'` : `'${character}'`;
}

// ----------------------------------------------------------------------------------- syntax errors

function syntaxError({ message: whole, row, column }, text, isProgram) {
  const message = whole.split(". Perhaps")[0].split("; perhaps")[0],
    line = isProgram ? text.split("\n")[row] : text;
  return (
    unusual(line, message, isProgram) ??
    badlyJoined(line, message) ??
    (message === "the formula ends too early"
      ? refusal("early", line, line.length, 1)
      : refusal("syntax", line, Math.min(column, line.length), 1, { message }))
  );
}

const ON_KEYBOARD = {
  ...{ "·": "*", "×": "*", "⋅": "*", "÷": "/" },
  ...{ "−": "-", "–": "-", "²": "**2", "³": "**3" },
};
function unusual(line, message, isProgram) {
  const signs = GRAMMAR.typography;
  for (const [place, character] of Array.from(line).entries()) {
    const usual =
      (isProgram && character === "=") || (character === "|" && message !== "invalid syntax");
    if (!known(signs, character) || usual) continue;
    const start = Array.from(line).slice(0, place).join("").length;
    const blanks = { character, hint: signs[character] },
      mended = known(ON_KEYBOARD, character) && [start, start + 1, ON_KEYBOARD[character]];
    return refusal("sign", line, start, 1, blanks, mended);
  }
  for (const { 0: what, index } of line.matchAll(/[\p{L}_][\p{L}\p{N}_]*/gu))
    if (KEYWORDS.has(what) && !(isProgram && IN_PROGRAMS.has(what)))
      return refusal("used", line, index, what.length, { what, hint: GRAMMAR.anythingElse });
  return null;
}

const WORD_LETTER = "[\\p{L}\\p{N}_]";
function badlyJoined(line, message) {
  const glued = new RegExp(
    `(?<!${WORD_LETTER}|\\.)(\\d+\\.?\\d*|\\.\\d+)([\\p{L}_]${WORD_LETTER}*)`,
    "u",
  ).exec(line);
  if (glued) {
    const start = glued.index + glued[1].length;
    const blanks = { number: glued[1], name: glued[2] };
    return refusal("glued", line, start, 1, blanks, [start, start, "*"]);
  }
  const names = Object.keys(GRAMMAR.functions).join("|"),
    called = new RegExp(`(?<!${WORD_LETTER})(${names})\\s+(${WORD_LETTER}+)`, "u").exec(line);
  if (called) {
    const [whole, name, argument] = called,
      end = called.index + whole.length,
      mended = [called.index + name.length, end, `(${argument})`];
    return refusal("argument", line, end - argument.length, 1, { name, argument }, mended);
  }
  const spaced = new RegExp(`(?:${WORD_LETTER}|\\))(\\s+)(?:${WORD_LETTER}|\\()`, "u").exec(line);
  const words = /(?<![\p{L}\p{N}_])(?:for|in|if|elif|and|or|not)(?![\p{L}\p{N}_])/u.test(line);
  if (!spaced || words || message.includes("expected")) return null;
  return refusal("spaced", line, spaced.index + spaced[0].search(/\s/), 1);
}

// ------------------------------------------------------------------------------------------ checks

class Check {
  constructor(text) {
    this.lines = text.split("\n");
    this.names = new Set();
    this.assigned = new Set();
    this.operations = 0;
  }

  refuse(node, key, blanks = {}, width = 0, mended = null) {
    const line = this.lines[node.row],
      end = node.endRow === node.row ? node.end : line.length;
    throw refusal(key, line, node.start, width || end - node.start, blanks, mended);
  }

  program(body) {
    const line = this.lines.at(-1);
    if (!body.length) throw refusal("result", line, line.length, 1);
    for (const statement of body.slice(0, -1)) this.statement(statement);
    const last = body.at(-1);
    if (last.type === "Expr") return this.formula(last.value);
    this.statement(last);
    if (last.type !== "Assign") this.refuse(last, "result", {}, 1);
  }

  statement(statement) {
    const { type, value, target, body } = statement;
    if (type === "Expr") this.refuse(value, "unused");
    if (type === "Assign") {
      this.formula(value);
      this.assign(target);
    } else if (type === "For") {
      this.range(statement.iter);
      if (target.type !== "Name") this.refuse(target, "counter");
      this.assign(target);
      body.forEach((inner) => this.statement(inner));
    } else {
      this.condition(statement.test);
      [...body, ...statement.orelse].forEach((inner) => this.statement(inner));
    }
  }

  assign(target) {
    if (target.type !== "Name") this.refuse(target, "target");
    const name = target.id;
    if (name.startsWith("_")) this.refuse(target, "underscore", { name });
    const constant = isConstant(name);
    if (constant || isFunction(name) || name === "range")
      this.refuse(target, "assigned", { name, kind: constant ? "constant" : "function" });
    this.assigned.add(name);
  }

  range(node) {
    const good = node.type === "Call" && node.func.id === "range" && !node.keywords.length;
    if (!good || node.args.length < 1 || node.args.length > 3) this.refuse(node, "range");
    for (const argument of node.args) {
      let bare = argument;
      while (bare.type === "UnaryOp") bare = bare.operand;
      if (!["Constant", "Name"].includes(bare.type)) this.refuse(argument, "range");
      this.formula(argument);
    }
  }

  condition(node) {
    if (node.type === "Compare") {
      if (!node.signs.every((sign) => known(GRAMMAR.operators, sign)))
        this.refuse(node, "condition");
      this.operations += node.signs.length;
      node.values.forEach((value) => this.formula(value));
    } else if (node.type === "BoolOp") node.values.forEach((value) => this.condition(value));
    else if (node.op === "not") this.condition(node.operand);
    else this.refuse(node, "condition");
  }

  // One formula, its parts in the order of the text; the first one that is not allowed is refused.
  formula(tree) {
    const waiting = [tree];
    while (waiting.length) {
      const node = waiting.pop();
      if (node.type === "Constant") this.number(node);
      else if (node.type === "Name") this.name(node);
      else {
        waiting.push(...this.operation(node).reverse());
        this.operations += 1;
        if (this.operations > GRAMMAR.limits.operations)
          this.refuse(node, "many", { most: GRAMMAR.limits.operations });
      }
    }
  }

  // The operands of an operation.
  operation(node) {
    if (node.type === "BinOp" || (node.type === "UnaryOp" && node.op !== "not")) {
      const good = ["+", "-", "*", "/", "**"].includes(node.op);
      if (!good) this.operator(node);
      return node.type === "BinOp" ? [node.left, node.right] : [node.operand];
    }
    if (node.type === "UnaryOp") this.operator(node);
    if (node.type === "Call") return this.call(node);
    const [what, hint] = GRAMMAR.nodes[node.type] ?? ["this", GRAMMAR.anythingElse];
    return this.refuse(node, "used", { what, hint });
  }

  operator({ op, sign, row, start }) {
    const place = sign ?? { row, start },
      blanks = { what: op, hint: GRAMMAR.refusedOperators[op] },
      mended = op === "^" && [place.start, place.start + 1, "**"];
    throw refusal("used", this.lines[place.row], place.start, op.length, blanks, mended);
  }

  name(node) {
    const name = node.id;
    if (isFunction(name)) this.refuse(node, "function", { name });
    if (name.startsWith("_")) this.refuse(node, "underscore", { name });
    if (!isConstant(name) && !this.assigned.has(name)) this.names.add(name);
  }

  number(node) {
    const { value } = node;
    if (["True", "False", "None"].includes(value)) this.refuse(node, "boolean", { name: value });
    if (value === "complex") this.refuse(node, "complex");
    if (typeof value === "string")
      this.refuse(node, "used", { what: value, hint: GRAMMAR.numbers });
    if (!Number.isFinite(value)) this.refuse(node, "large");
  }

  call(node) {
    const { func, args, keywords } = node;
    if (func.type === "Attribute") {
      const [what, hint] = GRAMMAR.nodes.Attribute;
      this.refuse(func, "used", { what, hint });
    }
    const at = this.lines[func.row].indexOf("(", func.end), // what stands before it is a factor
      times = func.row === func.endRow && at >= 0 && [at, at, "*"];
    if (func.type !== "Name") this.refuse(func, "call", {}, 0, times);
    const name = func.id;
    if (!isFunction(name)) {
      if ([...name].length === 1 || isConstant(name))
        this.refuse(func, "product", { name }, 0, times);
      const near = closeMatches(name.toLowerCase(), Object.keys(GRAMMAR.functions), 2, 0.55);
      const all = `the functions are ${Object.keys(GRAMMAR.functions).join(", ")}`;
      const hint = near.length ? `did you mean ${near.join(" or ")}?` : all;
      this.refuse(func, "unknown", { name, hint });
    }
    const arity = arityOf(name),
      letters = [..."xyzuvw"].slice(0, arity),
      example = `${name}(${letters.join(", ").replace("x", chooses(name) ? "x > 0" : "x")})`;
    if (keywords.length) this.refuse(keywords[0], "keyword", { name, example });
    const s = arity > 1 ? "s" : "";
    if (args.length !== arity)
      this.refuse(node, "arity", { name, arity, s, count: args.length, example });
    if (!chooses(name)) return [...args];
    const [test, ...values] = args;
    const [sign, more] = test.type === "Compare" ? test.signs : [];
    if (more || !known(GRAMMAR.operators, sign)) this.refuse(test, "chooses", { name, example });
    this.operations += 1;
    return [...test.values, ...values];
  }
}

// The words most like a word, as Python's difflib finds them: by the share of letters that stand in
// blocks which both have.
function closeMatches(word, words, most, least) {
  return words
    .map((one) => [(2 * matching([...one], [...word])) / (one.length + word.length), one])
    .filter(([share]) => share >= least)
    .sort((a, b) => b[0] - a[0] || (a[1] < b[1] ? 1 : -1))
    .slice(0, most)
    .map(([, one]) => one);
}

function matching(a, b) {
  let best = 0,
    atA = 0,
    atB = 0;
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < b.length; j++) {
      let n = 0;
      while (i + n < a.length && j + n < b.length && a[i + n] === b[j + n]) n++;
      if (n > best) [best, atA, atB] = [n, i, j];
    }
  if (!best) return 0;
  const before = matching(a.slice(0, atA), b.slice(0, atB));
  return best + before + matching(a.slice(atA + best), b.slice(atB + best));
}
