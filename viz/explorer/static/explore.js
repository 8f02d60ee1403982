// Begins the page.

import { explore } from "./page.js";

export const explorer = explore(document.getElementById("minigrad"), { panels: [] });
