// Runs the explorer in a standalone file, in place of the app's page and server.

import { drawnDocument } from "../browser/canvas/document.js";
import { part } from "../browser/canvas/dom.js";
import { Explorer } from "../browser/explorer/explorer.js";

drawnDocument((shadow) => new Explorer(part(shadow, ".explorer"), { canAskPython: false }));
