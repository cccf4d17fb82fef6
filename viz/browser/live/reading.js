// A trace under a reading (model/explain/reading.py): whole words, without special tokens, rows named by prediction.

import { isPunctuation, isSpecial, textOfTokens, wordSpans } from "./grouping.js";
import { WORD_START } from "./labels.js";

/** The id of a label that is no token. */
const NO_ID = -1;

/** The reading that changes nothing. */
const AS_RECORDED = { words: false, specials: true, renormalise: false, predicted: false };

/** Whether a reading changes nothing. @type {(reading?: ReadingOf) => boolean} */
export function isAsRecorded(reading = AS_RECORDED) {
  return Object.entries(AS_RECORDED).every(([name, value]) => reading[/** @type {keyof ReadingOf} */ (name)] === value);
}

// What a reading says of itself; the catalogues have these in every language (viz/site/wording/).
export const NOTES = {
  words:
    "Whole words: weights are summed over the tokens of a key word and averaged over those of a query word (Clark et al. 2019).",
  noWords: "These tokens do not show where words start, so each counts as a word.",
  hidden: "Special tokens are hidden, so rows may sum to less than 1.",
  renormalised:
    "Special tokens are hidden, and each row is divided by its remaining sum; rows that looked mostly at special tokens grow most.",
  firstRow: "The first row of the decoder, that of <s>, is hidden with them.",
  firstRowOfDecoder: "The first row of decoder self-attention, that of <s>, is hidden with them.",
  lastRowOfCross: "The row of cross-attention that predicts </s>, its last, is hidden with them.",
  predicted: "Rows of cross-attention are named by the token they predict.",
};

/**
 * A trace of the engine as it is read: its `maps`, each with its labels `rows` and `columns` as {tokens, ids} and without
 * scores and vectors; labels to the right of rows in `beside`, by kind; the tokens of each label in `spans` and
 * `besideSpans`, as [first, end); `notes`; and whether rows are named `byPrediction`.
 *
 * @param {Pick<EngineTrace, "source" | "target" | "predictions"> & { maps: RecordedMap[] }} trace
 */
export function readTrace(trace, reading = AS_RECORDED) {
  const source = new Axis(trace.source, reading);
  const input = new Axis(trace.target, reading);
  const output = new Axis(trace.predictions, reading);
  const byPrediction = reading.predicted && output.length > 0;
  /** @type {Record<string, [rows: Axis, columns: Axis]>} */
  const axesOf = { encoder: [source, source], decoder: [input, input], cross: [byPrediction ? output : input, source] };
  const maps = trace.maps.map((map) => readMap(map, ...axesOf[map.kind], reading));
  // A word's last token predicts the next word; the token read before a word predicts the word's first token.
  const following = input.kept.map((group) => input.ends[group] - 1);
  const before = output.kept.map((group) => output.starts[group]);
  /** @type {Record<string, [axis: Axis, places: number[]]>} */
  const besideOf = { decoder: [output, following], cross: byPrediction ? [input, before] : [output, following] };
  const beside = Object.entries(besideOf).map(([kind, [axis, places]]) => ({ kind, groups: places.map((place) => axis.groupOf(place)), axis }));
  return {
    maps,
    beside: Object.fromEntries(beside.map(({ kind, groups, axis }) => [kind, axis.labelled(groups)])),
    besideSpans: Object.fromEntries(beside.map(({ kind, groups, axis }) => [kind, axis.spansOf(groups)])),
    spans: { source: source.spans, input: input.spans, output: output.spans },
    notes: notesOf(trace, reading, byPrediction),
    byPrediction,
    reading,
  };
}

/** The tokens of one axis in groups, each shown as one; `kept` are the shown groups. */
class Axis {
  /** @param {Pieces} tokens @param {ReadingOf} reading */
  constructor(tokens, { words, specials }) {
    this.length = tokens.tokens.length;
    const grouped = words && isMarked(tokens);
    /** @type {TokenSpan[]} */
    const spans = grouped ? wordSpans(tokens.tokens) : tokens.tokens.map((_, place) => [place, place + 1]);
    this.starts = spans.map(([first]) => first);
    this.ends = spans.map(([, end]) => end);
    /** @type {[label: string, id: number][]} */
    this.labels = grouped ? spans.map((span) => wordLabel(tokens, span)) : tokens.tokens.map((token, place) => [token, tokens.ids[place]]);
    // A special token is a group by itself.
    this.kept = [...this.starts.keys()].filter((group) => specials || !isSpecial(tokens.tokens[this.starts[group]]));
  }

  get isGrouped() {
    return this.starts.length < this.length;
  }

  get isWhole() {
    return this.kept.length === this.starts.length;
  }

  /** The group that holds a token. @type {(place: number) => number} */
  groupOf(place) {
    return this.ends.findIndex((end) => place < end);
  }

  /** @type {(groups: number[]) => Pieces} */
  labelled(groups) {
    return { tokens: groups.map((group) => this.labels[group][0]), ids: groups.map((group) => this.labels[group][1]) };
  }

  /** @type {(groups: number[]) => TokenSpan[]} */
  spansOf(groups) {
    return groups.map((group) => [this.starts[group], this.ends[group]]);
  }

  get shown() {
    return this.labelled(this.kept);
  }

  get spans() {
    return this.spansOf(this.kept);
  }
}

/** Whether tokens mark the start of words; without marks, words are unknown. @type {(tokens: Pieces) => boolean} */
function isMarked({ tokens }) {
  return tokens.some((token) => token.startsWith(WORD_START));
}

/** The label and the id of a word; a single token keeps both unless it continues a word.
 * @type {(tokens: Pieces, span: TokenSpan) => [label: string, id: number]} */
function wordLabel({ tokens, ids }, [first, end]) {
  const token = tokens[first];
  if (end - first === 1 && (token.startsWith(WORD_START) || isSpecial(token) || isPunctuation(token))) return [token, ids[first]];
  const text = textOfTokens(tokens.slice(first, end));
  return [text.startsWith(WORD_START) ? text.slice(WORD_START.length) : text, NO_ID];
}

/** A map with rows and columns joined and left out; keys are summed and queries averaged.
 * @type {(map: RecordedMap, rows: Axis, columns: Axis, reading: ReadingOf) => ReadMap} */
function readMap({ kind, layer, heads, weights, allowed }, rows, columns, reading) {
  const labels = { rows: rows.shown, columns: columns.shown };
  if ([rows, columns].every(({ isGrouped, isWhole }) => isWhole && !isGrouped)) {
    return { kind, layer, heads, queries: rows.length, keys: columns.length, ...labels, weights, allowed };
  }
  const [nRows, nColumns] = [rows.kept.length, columns.kept.length];
  const read = {
    ...{ kind, layer, heads, queries: nRows, keys: nColumns, ...labels },
    weights: new Float32Array(heads * nRows * nColumns),
    allowed: { heads: allowed.heads, queries: nRows, keys: nColumns, bits: new Uint8Array(allowed.heads * nRows * nColumns) },
  };
  for (let head = 0; head < heads; head += 1) {
    const mask = allowed.heads > 1 ? head : 0;
    rows.kept.forEach((group, row) => {
      const place = (head * nRows + row) * nColumns;
      const own = read.weights.subarray(place, place + nColumns);
      const may = read.allowed.bits.subarray((mask * nRows + row) * nColumns).subarray(0, nColumns);
      // Rows without an allowed key do not count in the mean.
      let looking = 0;
      for (let query = rows.starts[group]; query < rows.ends[group]; query += 1) {
        const cells = (/** @type {number} */ each) => (each * rows.length + query) * columns.length;
        const bits = allowed.bits.subarray(cells(mask), cells(mask) + columns.length);
        looking += Number(bits.includes(1));
        columns.kept.forEach((other, column) => {
          for (let key = columns.starts[other]; key < columns.ends[other]; key += 1) {
            own[column] += weights[cells(head) + key];
            may[column] |= bits[key];
          }
        });
      }
      const left = reading.renormalise && !(rows.isWhole && columns.isWhole) ? own.reduce((sum, weight) => sum + weight, 0) : 0;
      const parts = left || Math.max(looking, 1);
      // Rounding can push a sum past 1.
      own.forEach((weight, column) => (own[column] = Math.min(weight / parts, 1)));
    });
  }
  return read;
}

/** @type {(trace: Record<"source" | "target" | "predictions", Pieces>, reading: ReadingOf, byPrediction: boolean) => string[]} */
function notesOf({ source, target, predictions }, { words, specials, renormalise }, byPrediction) {
  /** @type {string[]} */
  const notes = [];
  if (words) notes.push(isMarked(source) || isMarked(target) ? NOTES.words : NOTES.noWords);
  if (!specials) {
    notes.push(renormalise ? NOTES.renormalised : NOTES.hidden);
    if (target.tokens.includes("<s>")) notes.push(byPrediction ? NOTES.firstRowOfDecoder : NOTES.firstRow);
    if (byPrediction && predictions.tokens.includes("</s>")) notes.push(NOTES.lastRowOfCross);
  }
  if (byPrediction) notes.push(NOTES.predicted);
  return notes;
}
