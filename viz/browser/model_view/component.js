// Figure 1 as a component of a page: the whole model, or beside a panel with all heads of a kind.

import { mounted } from "../canvas/mount.js";
import { Guide } from "./guide.js";
import { HeadsView } from "./heads_view.js";
import { ModelView } from "./view.js";

export default mounted(
  ".model-view, .heads-view",
  (root, { engine, height }) => {
    if (!root.matches(".heads-view")) return new ModelView(root, { engine, guides: (travel) => new Guide(travel) });
    // Outside the app, an engine in the page may stand for Python.
    return new HeadsView(root, { engine, height, ...(engine && { canAskPython: false, canRun: true }) });
  },
  "rested",
);
