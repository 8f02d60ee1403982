// The grammar of formulas, and of the expressions in Python that are no formulas, so that these can
// be refused by what they are. A node: {type, row, start, endRow, end, …}; columns count UTF-16.

import { KEYWORDS, NotPython, tokenize } from "./tokens.js";

const COMPARISONS = new Set(["<", ">", "<=", ">=", "==", "!="]);
const BINARY_LEVELS = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%", "@"]];
const ASSIGNING = { "+=": "+", "-=": "-", "*=": "*", "/=": "/", "**=": "**" };

export class Parser {
  constructor(text, isProgram) {
    this.tokens = tokenize(text, isProgram);
    this.isProgram = isProgram;
    this.at = 0;
  }

  get next() {
    return this.tokens[this.at];
  }
  is(...texts) {
    const { kind, text } = this.next;
    return (kind === "op" || (kind === "name" && KEYWORDS.has(text))) && texts.includes(text);
  }
  take(...texts) {
    return this.is(...texts) ? this.tokens[this.at++] : null;
  }
  fail(message = "invalid syntax", token = this.next) {
    const { open, error } = this.tokens.at(-1);
    // as in Python, what is no token is told before a mistake in the grammar
    if (error && (token.kind === "error" || message === "invalid syntax")) throw error;
    if (open && (token.kind === "end" || token.row > open.row))
      throw new NotPython(`'${open.text}' was never closed`, open.row, open.start);
    if (token.kind === "end" && !this.isProgram) message = "the formula ends too early";
    throw new NotPython(message, token.row, token.start);
  }
  expect(text) {
    return this.take(text) ?? this.fail();
  }
  atEnd() {
    return this.next.kind === "end" || this.next.kind === "error";
  }
  // A node from the token where it began to the last one that was taken.
  node(type, from, facts) {
    const first = this.tokens[from],
      last = this.tokens[this.at - 1];
    return { type, row: first.row, start: first.start, endRow: last.row, end: last.end, ...facts };
  }

  // --------------------------------------------------------------------------------- statements

  formula() {
    if (this.is("*")) this.fail();
    const found = this.listed();
    if (this.next.kind !== "end") this.fail();
    return found;
  }

  program() {
    const body = [];
    while (this.next.kind !== "end") body.push(...this.line());
    return body;
  }

  // One line: a block, or statements with ; between them.
  line() {
    if (this.next.kind === "indent") this.fail("unexpected indent");
    if (this.is("for")) return [this.loop()];
    if (this.is("if")) return [this.branch()];
    const found = [this.simple()];
    while (this.take(";")) if (this.next.kind !== "newline") found.push(this.simple());
    if (this.next.kind !== "newline") this.fail();
    this.at++;
    return found;
  }

  simple() {
    const from = this.at,
      value = this.listed();
    if (this.take("=")) return this.node("Assign", from, { target: value, value: this.listed() });
    const sign = this.take(...Object.keys(ASSIGNING));
    if (!sign) return this.node("Expr", from, { value });
    const right = this.listed();
    const made = this.node("BinOp", from, { op: ASSIGNING[sign.text], left: value, right });
    return this.node("Assign", from, { target: value, value: made });
  }

  loop() {
    const from = this.at++,
      target = this.atom();
    this.expect("in");
    const iter = this.listed(),
      head = this.tokens[this.at - 1];
    const body = this.block("'for' statement", from);
    return { ...this.node("For", from, { target, iter, body }), endRow: head.row, end: head.end };
  }

  branch() {
    const from = this.at,
      word = this.tokens[this.at++].text;
    const test = this.test(),
      body = this.block(`'${word}' statement`, from);
    let orelse = [];
    if (this.is("elif")) orelse = [this.branch()];
    else if (this.is("else")) {
      const start = this.at++;
      orelse = this.block("'else' statement", start);
    }
    return this.node("If", from, { test, body, orelse });
  }

  block(what, from) {
    this.take(":") ?? this.fail(this.is(":=") ? "invalid syntax" : "expected ':'");
    if (this.next.kind !== "newline") return this.line();
    this.at++;
    if (this.next.kind !== "indent")
      this.fail(`expected an indented block after ${what} on line ${this.tokens[from].row + 1}`);
    this.at++;
    const body = [];
    while (this.next.kind !== "dedent" && !this.atEnd()) body.push(...this.line());
    if (this.next.kind === "dedent") this.at++;
    return body;
  }

  // -------------------------------------------------------------------------------- expressions

  listed() {
    const from = this.at,
      first = this.starred();
    if (!this.is(",")) return first;
    while (this.take(",")) {
      if (!this.begins()) break;
      this.starred();
    }
    return this.node("Tuple", from, {});
  }
  starred() {
    const from = this.at;
    if (!this.take("*")) return this.named();
    this.level(0);
    return this.node("Starred", from, {});
  }
  named() {
    const from = this.at;
    if (this.next.kind === "name" && this.tokens[this.at + 1].text === ":=") {
      this.at += 2;
      this.test();
      return this.node("NamedExpr", from, {});
    }
    return this.test();
  }
  begins() {
    const { kind, text } = this.next;
    if (kind === "name") return !KEYWORDS.has(text) || ["lambda", "not", "None"].includes(text);
    return ["number", "string"].includes(kind) || ["(", "[", "{", "-", "+", "~"].includes(text);
  }

  test() {
    const from = this.at;
    if (this.take("lambda")) {
      while (!this.is(":")) this.atEnd() ? this.fail() : this.at++;
      this.at++;
      this.test();
      return this.node("Lambda", from, {});
    }
    const value = this.joined("or");
    if (!this.take("if")) return value;
    this.joined("or");
    if (!this.take("else")) this.fail("expected 'else' after 'if' expression", this.tokens[from]);
    this.test();
    return this.node("IfExp", from, {});
  }
  joined(word) {
    const from = this.at,
      values = [word === "or" ? this.joined("and") : this.inverted()];
    while (this.take(word)) values.push(word === "or" ? this.joined("and") : this.inverted());
    return values.length > 1 ? this.node("BoolOp", from, { word, values }) : values[0];
  }
  inverted() {
    const from = this.at;
    if (!this.take("not")) return this.compared();
    const operand = this.inverted();
    return this.node("UnaryOp", from, { op: "not", operand });
  }
  compared() {
    const from = this.at,
      values = [this.level(0)],
      signs = [];
    while (COMPARISONS.has(this.next.text) || this.is("in", "is", "not")) {
      const sign = this.tokens[this.at++].text;
      if (sign === "not" || sign === "is") this.take("in", "not");
      signs.push(sign);
      values.push(this.level(0));
    }
    return signs.length ? this.node("Compare", from, { signs, values }) : values[0];
  }
  level(depth) {
    if (depth === BINARY_LEVELS.length) return this.factor();
    const from = this.at;
    let left = this.level(depth + 1);
    for (let sign; (sign = this.take(...BINARY_LEVELS[depth]));) {
      const right = this.level(depth + 1);
      left = this.node("BinOp", from, { op: sign.text, left, right, sign });
    }
    return left;
  }
  factor() {
    const from = this.at,
      sign = this.take("+", "-", "~");
    if (!sign) return this.power();
    const operand = this.factor();
    return this.node("UnaryOp", from, { op: sign.text, operand });
  }
  power() {
    const from = this.at,
      awaits = this.take("await"),
      left = this.primary();
    if (awaits) return this.node("Await", from, {});
    const sign = this.take("**");
    if (!sign) return left;
    const right = this.factor();
    return this.node("BinOp", from, { op: "**", left, right, sign });
  }
  primary() {
    const from = this.at;
    let left = this.atom();
    for (;;) {
      if (this.take(".")) {
        if (this.next.kind !== "name" || KEYWORDS.has(this.next.text)) this.fail();
        this.at++;
        left = this.node("Attribute", from, {});
      } else if (this.is("(")) {
        const given = this.given();
        left = this.node("Call", from, { func: left, ...given });
      } else if (this.take("[")) {
        this.inside("]");
        left = this.node("Subscript", from, {});
      } else return left;
    }
  }
  // The arguments of a call.
  given() {
    const args = [],
      keywords = [];
    this.expect("(");
    while (!this.take(")")) {
      const from = this.at;
      if (this.next.kind === "name" && this.tokens[this.at + 1].text === "=") {
        this.at += 2;
        this.test();
        keywords.push(this.node("keyword", from, {}));
      } else if (this.take("**")) {
        this.test();
        keywords.push(this.node("keyword", from, {}));
      } else {
        const value = this.starred();
        if (!this.is("for")) args.push(value);
        else {
          this.comprehension(")");
          args.push(this.node("GeneratorExp", from - 1, {}));
          return { args, keywords };
        }
      }
      if (!this.is(")")) this.take(",") ?? this.fail();
    }
    return { args, keywords };
  }
  comprehension(closing) {
    while (!this.is(closing)) this.atEnd() ? this.fail() : this.at++;
    this.at++;
  }
  // What stands in brackets, up to the closing one; what it is made of is not kept.
  inside(closing) {
    let comprehends = false;
    while (!this.take(closing)) {
      if (this.is("for")) {
        this.comprehension(closing);
        return true;
      }
      if (!this.take(",", ":")) this.starred();
      else comprehends = false;
    }
    return comprehends;
  }
  atom() {
    const from = this.at,
      { kind, text } = this.next;
    if (kind === "name" && ["True", "False", "None"].includes(text)) {
      this.at++;
      return this.node("Constant", from, { value: text });
    }
    if (kind === "name" && !KEYWORDS.has(text)) {
      this.at++;
      return this.node("Name", from, { id: text.normalize("NFKC") });
    }
    if (kind === "number") {
      this.at++;
      return this.node("Constant", from, { value: numberValue(text), text });
    }
    if (kind === "string") {
      while (this.next.kind === "string") this.at++;
      const joined = /^[rRbBuU]*f/i.test(text);
      return this.node(joined ? "JoinedStr" : "Constant", from, { value: "a string" });
    }
    if (this.take("...")) return this.node("Constant", from, { value: "..." });
    if (this.take("(")) return this.parenthesis(from);
    if (this.take("[")) return this.node(this.inside("]") ? "ListComp" : "List", from, {}, this.at);
    if (this.take("{")) {
      const dictionary = this.tokens[this.at + 1]?.text === ":" || this.is("}");
      const comprehends = this.inside("}");
      const type = dictionary ? "Dict" : "Set";
      return this.node(comprehends ? `${type}Comp` : type, from, {});
    }
    return this.fail();
  }
  parenthesis(from) {
    if (this.take(")")) return this.node("Tuple", from, {});
    if (this.take("yield")) {
      this.comprehension(")");
      return this.node("Yield", from + 1, {});
    }
    const inner = this.starred();
    if (this.is("for")) {
      this.comprehension(")");
      return this.node("GeneratorExp", from, {});
    }
    if (this.take(")")) return inner.type === "Starred" ? this.fail() : inner;
    if (!this.take(",")) this.fail("invalid syntax. Perhaps you forgot a comma?");
    while (!this.take(")")) if (!this.take(",")) this.starred();
    return this.node("Tuple", from, {});
  }
}

function numberValue(text) {
  const plain = text.replace(/_/g, "");
  if (/[jJ]$/.test(plain) && !/^0[xX]/.test(plain)) return "complex";
  if (/^0[xXoObB]/.test(plain)) return Number(plain);
  return Number(plain);
}
