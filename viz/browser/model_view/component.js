// Figure 1 as a component of a page.

import { mounted } from "../canvas/mount.js";
import { ModelView } from "./view.js";

export default mounted(".model-view", (root, page) => new ModelView(root, page), "rested");
