// A trace of the engine as the animated Figure 1 takes it: the envelope that viz/model_page/payload.py packs.

import constants from "../../draw/constants.json" with { type: "json" };
import { pairColumns } from "../canvas/pairs.js";
import { meanWeights, wordWeights, wordsOfText } from "./grouping.js";
import { tokenText } from "./labels.js";
import { packedTrace, packedValues } from "./packing.js";
import { isAsRecorded } from "./reading.js";
import { sealed } from "./sealed.js";

// The picture of the model has room for so many.
const OFFERED = 5;

/**
 * The envelope of a sentence.
 *
 * @param {FigureTemplate} template - the values of an envelope of the same model, for what does not depend on the sentence.
 * @param {EngineTrace} trace
 * @param {import("./packing.js").TraceOptions & { key: string, moment?: number, play?: boolean, place?: string, walk?: number, kiosk?: boolean, pages?: string[], acts?: [string, string][] }} options -
 *   `key` of the sentence, the others of the payload; heads are shown in the `reading`, beside the trace as it was recorded.
 */
export function packedFigure(template, trace, { key, moment = 0, play = false, place = "", walk = 0, kiosk = false, pages = template.pages, acts = [], reading, ...shown }) {
  const written = wordsOfText(trace.predictions.tokens).filter(({ special }) => !special);
  const read = wordsOfText(trace.source.tokens);
  const arcs = wordWeights(arcRows(template, trace), written, read, template.later);
  return sealed({
    ...packedValues(template, trace, shown),
    ...{ key, moment, play, place, walk, kiosk, pages, acts, written, read },
    reading: isAsRecorded(reading) ? null : packedTrace(template, trace, { ...shown, reading }),
    arcs: { weights: arcs, frames: 1 },
    picture: null,
    stacks: template.stacks.map((stack) => ({
      ...stack,
      added: trace.added[stack.kind],
      positions: packedPositions(stack.positions, trace.positions[/** @type {"encoder" | "decoder"} */ (stack.kind)]),
    })),
    next: trace.steps.map((step, place) => offered(step, trace.predictions, Math.exp(trace.logProbs[place]), place)),
  });
}

/** The weights that arcs show: of the head that was measured to be the best, or the mean of all.
 * @type {(template: FigureTemplate, trace: Pick<EngineTrace, "maps">) => WeightRows} */
function arcRows({ head }, { maps }) {
  const cross = maps.filter(({ kind }) => kind === "cross");
  if (!head) return meanWeights(cross);
  const [, layer, number] = head;
  const { weights, queries, keys } = cross.find((map) => map.layer === layer) ?? cross[0];
  const size = queries * keys;
  return { weights: weights.subarray(number * size, (number + 1) * size), queries, keys };
}

/** @type {(template: FigurePositions | null, rows: Numbers[] | FigurePositions | null) => Partial<FigurePositions> | null} */
function packedPositions(template, rows) {
  if (!template?.dimensions || !rows) return template;
  if (!Array.isArray(rows)) return rows;
  const count = rows[0].length;
  const columns = pairColumns(count, Math.max(1, Math.floor(count / 32))).slice(0, constants.POSITION_DIMENSIONS);
  const shown = rows.map((row) => columns.map((column) => row[column]));
  const limit = Math.max(...shown.flat().map(Math.abs)) || 1;
  const cells = Uint8Array.from(shown.flat(), (number) => Math.round((number / limit + 1) * 127.5));
  return { acts: null, cells, dimensions: columns.length, of: count, limit };
}

/** What may come next at a step; the token that comes is among them.
 * @type {(step: EngineTrace["steps"][number], predictions: Pieces, own: number, place: number) => NextTokens} */
function offered({ tokens, ids, probabilities, normalizers }, predictions, own, step) {
  let texts = tokens.slice(0, OFFERED).map(tokenText);
  let shares = probabilities.slice(0, OFFERED);
  let taken = ids.slice(0, OFFERED);
  let chosen = taken.indexOf(predictions.ids[step]);
  if (chosen < 0) {
    texts = [...texts.slice(0, -1), tokenText(predictions.tokens[step])];
    taken = [...taken.slice(0, -1), predictions.ids[step]];
    shares = [...shares.slice(0, -1), own];
    chosen = texts.length - 1;
  }
  return { texts, ids: taken, shares, chosen, normalizers };
}
