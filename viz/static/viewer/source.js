// The source text, with the piece that is at work lit.

import { h } from "./dom.js";

export function drawSource(trace, t) {
  if (typeof trace.source?.code !== "string" || !trace.source.code.trim()) return null;
  const code = trace.source.code.replace(/\n+$/, ""),
    lines = code.split("\n"),
    text = h("code"),
    first = trace.source.first_line ?? 1;
  const spans = new Map(trace.nodes.map((node) => [node.id, node.span])),
    senders = new Map(trace.edges.map((edge) => [edge.id, edge.dst]));
  // Lines count from 1; columns count characters, of which some take two places in a JavaScript
  // string.
  const offset = (line, column) => {
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    return (
      before +
      Array.from(lines[line - 1] ?? "")
        .slice(0, column)
        .join("").length
    );
  };
  const file = trace.source.filename ? h("small", null, String(trace.source.filename)) : null;
  const gutter = h(
    "pre",
    { class: "mg-gutter", "aria-hidden": "true" },
    lines.map((_, i) => first + i).join("\n"),
  );
  const scroll = h(
    "div",
    { class: "mg-scroll", tabindex: "0", role: "group", "aria-label": t("source") },
    gutter,
    h("pre", null, text),
  );
  const longest = Math.max(...lines.map((line) => Array.from(line).length));
  return {
    width: 60 + 7.9 * longest, // gutter, and letters of 13 pixels
    box: h(
      "figure",
      { class: "mg-box mg-source" },
      h("figcaption", null, h("span", null, t("source")), file),
      scroll,
    ),
    // The node whose code a step is about: of a contribution to an input the operation that sends.
    about(step) {
      const sender = senders.get(step?.edges?.[0]);
      return spans.get(step?.node) || !sender ? step?.node : sender;
    },
    light(id, line) {
      const span = spans.get(id) ?? (line ? [line, 0, line, Infinity] : null);
      if (!span) return text.replaceChildren(code);
      const from = offset(span[0], span[1]),
        to = Math.max(from, offset(span[2], span[3]));
      text.replaceChildren(
        code.slice(0, from),
        h("mark", null, code.slice(from, to)),
        code.slice(to),
      );
    },
  };
}
