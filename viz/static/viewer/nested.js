// The formulas inside a token.

import constants from "./constants.json" with { type: "json" };

export const NESTED = constants.nested; // the keys that hold them, by the token's kind
export const innerFormulas = (token) => (NESTED[token.t] ?? []).map((key) => token[key]);
