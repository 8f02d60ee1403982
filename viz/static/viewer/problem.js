const SCHEMA = "minigrad.trace/1";

// What is wrong with a document, as a sentence; null when it can be shown.
export function problem(trace) {
  const kind = trace === null ? "null" : Array.isArray(trace) ? "list" : typeof trace,
    name = JSON.stringify;
  if (kind !== "object")
    return `A trace is a JSON object of the schema ${SCHEMA}, but this is: ${kind}.`;
  if (trace.schema !== SCHEMA)
    return `This viewer reads ${SCHEMA}, but the document says schema = ${name(trace.schema)}.`;
  for (const part of ["nodes", "edges", "columns", "steps"])
    if (!Array.isArray(trace[part])) return `The trace has no list “${part}”.`;
  const ids = new Set(trace.nodes.map((node) => node?.id)),
    edges = new Set(),
    columns = new Set(trace.columns.map((c) => c?.key));
  for (const [i, node] of trace.nodes.entries())
    if (typeof node?.id !== "string") return `Node ${i + 1} has no id.`;
  for (const e of trace.edges) {
    if (!ids.has(e?.src) || !ids.has(e?.dst))
      return `Edge ${name(e?.id)} joins nodes that do not exist in this trace.`;
    edges.add(e.id);
  }
  for (const [i, step] of trace.steps.entries()) {
    const here = () => `Step ${i + 1}`;
    if (!ids.has(step?.node))
      return `${here()} is about the node ${name(step?.node)}, which does not exist in this trace.`;
    for (const e of step.edges ?? [])
      if (!edges.has(e))
        return `${here()} names the edge ${name(e)}, which does not exist in this trace.`;
    for (const cell of [...(step.reads ?? []), ...(step.writes ?? [])])
      if (!ids.has(cell?.[0]) || !columns.has(cell?.[1]))
        return `${here()} reads or writes ${name(cell)}, no cell of this trace.`;
  }
  return null;
}
