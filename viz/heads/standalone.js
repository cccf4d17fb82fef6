// The explorer in a file of its own.

import { drawnDocument } from "../browser/canvas/document.js";
import { Explorer } from "../browser/explorer/explorer.js";

drawnDocument((shadow) => new Explorer(shadow.querySelector(".explorer"), { canAskPython: false }));
