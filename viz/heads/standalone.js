// All heads beside the model's picture, in a file of their own.

import { drawnDocument } from "../browser/canvas/document.js";
import { part } from "../browser/canvas/dom.js";
import { HeadsView } from "../browser/model_view/heads_view.js";

drawnDocument((shadow) => new HeadsView(part(shadow, ".heads-view"), { canAskPython: false }));
