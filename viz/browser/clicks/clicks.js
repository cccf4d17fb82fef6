// Reports clicks on the points of a Plotly chart; a point's message is the first item of its customdata.

import { ChartClicks } from "../canvas/clicks.js";
import { mounted } from "../canvas/mount.js";

export default mounted("[aria-hidden]", () => new ChartClicks(({ customdata }) => (Array.isArray(customdata) ? customdata.slice(0, 1) : null)), "clicks");
