// Clicks on the points of a Plotly chart; what is sent for each begins its customdata.

import { ChartClicks } from "../canvas/clicks.js";
import { mounted } from "../canvas/mount.js";

export default mounted("[aria-hidden]", () => new ChartClicks(({ customdata }) => customdata?.slice(0, 1) ?? null), "clicks");
