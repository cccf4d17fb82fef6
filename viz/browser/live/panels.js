// Matrices as their component takes them: the envelope that viz/browser/matrices.py packs.

import { sealed } from "./sealed.js";

const PLAIN = {
  ...{ note: "", sign: "", alt: "", queryTitle: "", keyTitle: "", scale: "weights", names: [], legend: null },
  ...{ colors: {}, low: 0, high: 1, unit: "", digits: 2, least: null, shown: null, base: null, start: null, reasons: null, byEdit: 0 },
  ...{ pointed: "{query} ({row}) → {key} ({column})", beside: null, besideTitle: "", hatched: null, reads: [] },
};

/** @typedef {import("../matrices/panel.js").Sent} Sent */
/** @typedef {Partial<Omit<Sent, "values">> & { values: ArrayLike<number>, queries: string[], keys: string[] }} GivenPanel */
/**
 * @typedef {{ themes: Themes, height?: number, abreast?: number, stage?: boolean, epoch?: number, name?: string,
 *   help?: string, example?: number[] | null }} Packing
 */

/** The envelope of panels, whose values, masks and painted cells are typed arrays; options as in matrices.py. @type {(panels: GivenPanel[], packing: Packing) => Bytes} */
export function packedPanels(panels, { themes, height = 0, abreast = panels.length, stage = false, epoch = 0, name = "", help = "", example = null }) {
  const placed = (/** @type {ArrayLike<number> | null} */ array) => array && Uint8Array.from(array);
  const listed = panels.map((given) => {
    const panel = { ...PLAIN, ...given };
    const values = panel.scale === "category" ? Uint8Array.from(panel.values) : Float32Array.from(panel.values);
    return {
      ...panel,
      legend: panel.legend ?? panel.names,
      values,
      ...{ shown: placed(panel.shown), base: placed(panel.base), start: placed(panel.start) },
    };
  });
  return sealed({ payload: "matrices", panels: listed, stage, themes, height, abreast, epoch, name, help, example });
}
