// Begins the page.

import { explore } from "./page.js";
import { plotPanel } from "./plot.js";
import { waysPanel } from "./ways.js";

const panels = [plotPanel, waysPanel];
export const explorer = explore(document.getElementById("minigrad"), { panels });
