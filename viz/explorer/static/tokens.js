// A formula's or a program's text as the tokens of Python's grammar, each with its place.

export const KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except" +
    " finally for from global if import in is lambda nonlocal not or pass raise return try while" +
    " with yield"
  ).split(" "),
);

// What is wrong with a text: the problem, its place, and what to do. `line` holds the line itself.
export class FormulaError extends Error {
  constructor(problem, line, column, hint = "", width = 1) {
    super(problem);
    Object.assign(this, { problem, line, column, hint, width });
  }
}

// What Python's parser says of a text; problems that are told in other words are found from it.
export class NotPython extends Error {
  constructor(message, row, column) {
    super(message);
    Object.assign(this, { row, column });
  }
}

const AFTER_NUMBERS = new Set(["and", "else", "for", "if", "in", "is", "not", "or"]);

const anyOf = (patterns) => new RegExp(patterns.map(({ source }) => source).join("|"), "y");

const NAME = /[\p{ID_Start}_][\p{ID_Continue}]*/uy,
  NUMBER = anyOf([
    /0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+/,
    /(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?[jJ]?/,
  ]),
  STRING = /(?:[rRbBuUfF]{0,2})(?:'[^'\n]*'|"[^"\n]*")/y,
  OPERATOR = anyOf([
    /\*\*=|\/\/=|>>=|<<=|\.\.\.|\*\*|\/\/|<<|>>|<=|>=|==|!=|->|:=|[-+*/%@&|^]=/,
    /[-+*/%@&|^~<>()[\]{},:.;=!]/,
  ]);
const CLOSING_BRACKET = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
]);

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

// The tokens of a text: {kind, text, row, start, end}; rows count from 0. In a program, lines end
// with "newline", and blocks begin and end with "indent" and "dedent".
export function tokenize(text, isProgram) {
  const tokens = [];
  try {
    readTokens(text, isProgram, tokens);
  } catch (error) {
    if (!(error instanceof NotPython)) throw error;
    // Python reads on to here only where the grammar has met nothing wrong before
    const { row, column: start } = error;
    tokens.push({ kind: "error", text: "", row, start, end: start, error });
  }
  return tokens;
}

function readTokens(text, isProgram, tokens) {
  const open = [],
    indents = [0];
  text.split("\n").forEach((line, row) => {
    const blank = /^[ \t\f]*(#.*)?$/.test(line);
    if (isProgram && !open.length && blank) return;
    if (isProgram && !open.length) indentation(line, row, indents, tokens);
    tokensOfLine(line, row, open, tokens);
    if (isProgram && !open.length)
      tokens.push({ kind: "newline", text: "", row, start: line.length, end: line.length });
  });
  const last = text.split("\n").length - 1,
    end = text.split("\n")[last].length;
  while (indents.pop() > 0) tokens.push({ kind: "dedent", text: "", row: last, start: end, end });
  tokens.push({ kind: "end", text: "", row: last, start: end, end, open: open.at(-1) });
}

function indentation(line, row, indents, tokens) {
  const width = line.match(/^[ \t]*/)[0].replace(/\t/g, "        ").length;
  const place = { text: "", row, start: 0, end: width };
  if (width > indents.at(-1)) {
    indents.push(width);
    tokens.push({ kind: "indent", ...place, start: width - 1 });
  }
  while (width < indents.at(-1)) {
    indents.pop();
    if (width > indents.at(-1))
      throw new NotPython("unindent does not match any outer indentation level", row, line.length);
    tokens.push({ kind: "dedent", ...place });
  }
}

function tokensOfLine(line, row, open, tokens) {
  let at = 0;
  while (at < line.length) {
    if (/[ \t\f]/.test(line[at])) {
      at++;
      continue;
    }
    if (line[at] === "#") return;
    const token = tokenAt(line, row, at);
    if (CLOSING_BRACKET.has(token.text)) open.push(token);
    if (token.kind === "op" && ")]}".includes(token.text)) closeBracket(token, open);
    tokens.push(token);
    at = token.end;
  }
}

function tokenAt(line, row, at) {
  const found = (kind, text) => ({ kind, text, row, start: at, end: at + text.length });
  const string = match(STRING, line, at);
  if (string) return found("string", string);
  if (line[at] === "'" || line[at] === '"')
    throw new NotPython(`unterminated string literal (detected at line ${row + 1})`, row, at);
  const name = match(NAME, line, at);
  if (name) return found("name", name);
  const number = match(NUMBER, line, at);
  if (number) return numberAt(line, found("number", number));
  const operator = match(OPERATOR, line, at);
  if (operator && operator !== "!") return found("op", operator);
  const character = String.fromCodePoint(line.codePointAt(at)),
    code = `U+${line.codePointAt(at).toString(16).toUpperCase().padStart(4, "0")}`;
  throw new NotPython(
    /[\p{C}\p{Z}]/u.test(character)
      ? `invalid non-printable character ${code}`
      : `invalid character '${character}' (${code})`,
    row,
    at,
  );
}

function numberAt(line, token) {
  const { text, row, start, end } = token;
  if (/^0[0-9_]*[1-9][0-9_]*$/.test(text))
    throw new NotPython(
      "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal" +
        " integers",
      row,
      start,
    );
  const word = match(NAME, line, end);
  if ((word && !AFTER_NUMBERS.has(word)) || line[end] === "_")
    throw new NotPython("invalid decimal literal", row, end - 1);
  return token;
}

function closeBracket(token, open) {
  const last = open.pop();
  if (!last) throw new NotPython(`unmatched '${token.text}'`, token.row, token.start);
  if (CLOSING_BRACKET.get(last.text) !== token.text)
    throw new NotPython(
      `closing parenthesis '${token.text}' does not match opening parenthesis '${last.text}'`,
      token.row,
      token.start,
    );
}
