// What attention says of the source of each word, beside what hiding that source does (viz/effects/estimate_vs_deletion.py).

import { axisTexts } from "../browser/live/labels.js";
import { say } from "./words.js";

/** @import { GivenPanel } from "../browser/live/panels.js" */
/** @typedef {Awaited<ReturnType<import("../browser/engine/engine.js").Engine["attributed"]>>} Attributed */

/** The estimates by their names in an address. */
export const ESTIMATES = ["weights", "norms"];

// What a token must lose at least, in nats, or nothing is known of its source.
const TELLING = 0.5;

/** @type {(method: string) => string} */
export function estimateName(method) {
  return method === "norms" ? say("method_norms") : say("method_weights");
}

/** The panels of the truth and of one estimate, and how often they agree, in a caption.
 * @type {(trace: EngineTrace, found: Attributed, method: string) => { panels: GivenPanel[], caption: string }} */
export function mapPanels({ predictions, source }, found, method) {
  const [queries, keys] = [predictions, source].map(axisTexts);
  const given = { queries, keys, queryTitle: say("target_token"), keyTitle: say("source_token"), pointed: "{query} · {key}", least: 2 };
  const limit = Math.max(...found.losses.map(Math.abs), 1e-6);
  const estimate = method === "norms" ? found.norms : found.weights;
  const [some, all] = agreement(found.losses, estimate, keys.length);
  const name = estimateName(method);
  return {
    panels: [
      { ...given, title: say("truth"), alt: say("truth"), values: found.losses, unit: say("deletion_loss"), scale: "signed", low: -limit, high: limit },
      { ...given, title: name, alt: name, values: estimate, unit: say("estimate"), high: Math.max(...estimate) },
    ],
    caption: say("maps_note", { some, all }),
  };
}

/** In how many rows both maps are greatest at one place, and of how many.
 * @type {(losses: Numbers, estimate: Numbers, width: number) => [some: number, all: number]} */
function agreement(losses, estimate, width) {
  let [some, all] = [0, 0];
  for (let first = 0; first < losses.length; first += width) {
    const [own, other] = [losses, estimate].map((values) => values.subarray(first, first + width));
    const most = Math.max(...own);
    if (most < TELLING) continue;
    all += 1;
    if (other[own.indexOf(most)] === Math.max(...other)) some += 1;
  }
  return [some, all];
}
