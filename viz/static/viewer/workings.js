// What a step computes, in numbers, beside its formula. Of an array, in which the formula has no
// space for the numbers, the computation of one entry: of that which the reader has chosen, else of
// the first.

import { placesOf } from "./arrays.js";
import { h } from "./dom.js";
import { key, nodesOf } from "./fold.js";
import { arithmetic, equation, labelOf, plain, runs } from "./formulas.js";
import { entryText } from "./views/entries.js";
import { ACCENTS } from "./views/maps.js";
import { elementAt, elementCount, heldOf, partAround } from "./views/meeting.js";

const TERMS_TOLD = 4, // of a sum
  FEW_TOLD = 3, // on a phone
  FEW_LISTED = 4, // numbers of an array
  LONGEST_SUM = 60, // signs of arrays that are added up
  LINES_TOLD = 16; // of the last steps drawn, also those that are measured beside the viewer

const isArray = (value) => value?.shape?.length > 0;
const staysShort = (tokens) =>
  !tokens.some(({ value }) => isArray(value)) || plain(runs(tokens)).length <= LONGEST_SUM;

// Parts of the sums as they stand beside the formula.
export function workings(step, state, host) {
  const line = h("span", { class: "mg-piece" }),
    lines = (host.entryLines ??= []),
    sums = arithmetic(step, state),
    drawn = (some) => some.map((tokens) => equation(tokens, 0));
  const write = () => line.replaceChildren(...equation(entryTokens(step, state, host), 0));
  write();
  if (!line.firstChild) return drawn(sums);
  lines.push(() => line.isConnected && write());
  lines.splice(0, lines.length - LINES_TOLD);
  host.entryChosen = () => lines.forEach((told) => told());
  return [...drawn(sums.filter(staysShort)), [line]];
}
// The formula, with the first numbers of its arrays where the line of an entry stands beside it.
export const formulaBeside = (worked, { formula = [] }) =>
  formula.map((token) => {
    const { value } = token,
      few = isArray(value) && worked.length > 0 && value.sample?.slice(0, FEW_LISTED);
    return few ? { ...token, value: { ...value, sample: few } } : token;
  });
// v1[0] = 1 · 1 + 2 · 0 + 3 · (−1) = −2; none of a number that is made of numbers.
function entryTokens(step, state, host) {
  const [id, column, written] = step.writes?.[0] ?? [],
    array = written === undefined ? null : heldOf(written);
  if (!array || !elementCount(array.shape)) return [];
  if (!isArray(array) && !step.reads.some((cell) => isArray(state.get(key(...cell))))) return [];
  const chosen = placesOf(host).get(id),
    isHeld = chosen?.length === array.shape.length && partAround(array, [chosen]),
    place = isHeld ? chosen : (array.parts?.[0].from ?? array.shape.map(() => 0)),
    most = matchMedia("(max-width: 560px)").matches ? FEW_TOLD : TERMS_TOLD,
    { body, note } = entryText(host, step, state, place, () => {}, most) ?? {};
  if (!body && !note) return [];
  const op = (text) => ({ t: "op", text }),
    row = (text) => ({ t: "row", text }),
    name = { t: "sym", ...labelOf(nodesOf(host.trace).get(id)), accent: ACCENTS[column], node: id },
    terms = body.split(" + ").flatMap((text, i) => [op(i ? "+" : "="), row(text)]);
  return [
    ...[name, { t: "text", text: place.length ? `[${place.join(", ")}]` : "" }],
    ...(body ? terms : []),
    ...[op("="), { t: "num", value: elementAt(array, place), col: column }],
    { t: "text", text: body ? "" : note },
  ];
}
