// Acts as their component takes them: the envelope that viz/acts/act.py packs, of what the engine finds.

import constants from "../../draw/constants.json" with { type: "json" };
import swaps from "../../acts/swaps.json" with { type: "json" };
import { signed, percent } from "../canvas/numbers.js";
import { countOf, tr } from "../canvas/wording.js";
import { wordsOfText } from "../live/grouping.js";
import { WORD_START, axisTexts, visibleCharacter } from "../live/labels.js";
import { sharedPlaces, wordChanges } from "../live/paired.js";
import { sealed } from "../live/sealed.js";

/** @typedef {{ place: number, word: string, other: string, id: number }} Rival */
/** @typedef {Awaited<ReturnType<import("../engine/engine.js").Engine["deciding"]>>} Deciding */
/** @typedef {Awaited<ReturnType<import("../engine/engine.js").Engine["swapped"]>>} Swapped */
/** @typedef {import("./types.d.ts").ActFrame} ActFrame */
/** @typedef {[text: string, mark: string][]} Written */
/** @typedef {{ key: string, title: string, template: FigureTemplate, stage: boolean }} Shown */

const OF_ACTS = constants.ACTS;
const [LIKELIEST, CERTAIN] = [5, 0.0005];
const ACT_KINDS = ["encoder", "cross", "decoder"];

// ---- the model's two minds ----------------------------------------------------------------------------------------

/** Words that were close, the closest first: whole words of letters, with the likeliest other one there.
 * @type {(trace: EngineTrace) => Rival[]} */
export function closeWords({ predictions, steps, logProbs }) {
  const found = predictions.tokens.flatMap((own, place) => {
    const follows = predictions.tokens[place + 1] ?? "";
    if (!isWord(own) || /^\p{L}/u.test(follows)) return [];
    const { tokens, ids, probabilities } = steps[place];
    const likeliest = tokens.slice(0, LIKELIEST);
    const rival = likeliest.findIndex((token) => isWord(token) && token.toLowerCase() !== own.toLowerCase());
    const share = probabilities[rival] / Math.exp(logProbs[place]);
    if (rival < 0 || !likeliest.includes(own) || share >= 1) return [];
    return [{ share, place, word: own.slice(1), other: tokens[rival].slice(1), id: ids[rival] }];
  });
  return found.sort((one, other) => other.share - one.share);
}

/** @type {(token: string) => boolean} */
function isWord(token) {
  return token.startsWith(WORD_START) && /^\p{L}{2,}$/u.test(token.slice(1));
}

/** Heads go dark, strongest first, until another word wins. @type {(trace: EngineTrace, rival: Rival, found: Deciding, shown: Shown) => Bytes} */
export function dividedAct(trace, rival, { heads, logProbs, leads }, shown) {
  const [word, other] = [rival.word, rival.other].map(quoted);
  const size = heads.length + 1;
  const ends = Array.from({ length: OF_ACTS.RANDOM_ORDERS }, (_, order) => leads[(order + 2) * size - 1]);
  const drawn = ACT_KINDS.filter((kind) => trace.maps.some((map) => map.kind === kind));
  const frames = logProbs.map(([one, two], n) => {
    const shares = { word, other, share: probability(one), rest: probability(two) };
    const lasts = n === heads.length && { n, other, some: ends.filter((lead) => lead <= 0).length || tr("none"), all: OF_ACTS.RANDOM_ORDERS };
    const said = n
      ? tr("Without {heads}, {word} has a probability of {share}, {other} of {rest}.", { heads: countOf(n, "head"), ...shares })
      : tr("With every head, {word} has a probability of {share}, {other} of {rest}.", shares);
    const end = lasts
      ? ` ${tr("{other} is ahead. Without as many heads at random, it is in {some} of {all} tries.", lasts, "{other} is ahead. Without one head at random, it is in {some} of {all} tries.")}`
      : "";
    return {
      ...{ name: n ? tr("{n} heads off", { n }, "{n} head off") : tr("All heads"), said: said + end, trace: 0, stage: 0 },
      written: writtenTo(trace.predictions.tokens, rival, one > two),
      off: heads.slice(0, n).map(({ kind, layer, head }) => /** @type {[number, number, number]} */ ([drawn.indexOf(kind), layer, head])),
    };
  });
  const curve = {
    ...{ up: tr("Lead (nats)"), above: tr("{word} is likelier", { word }), below: tr("{word} is likelier", { word: other }), count: OF_ACTS.RANDOM_ORDERS },
    ...{ names: [tr("strongest first"), tr("at random")], values: leads.slice(0, size), others: leads.slice(size) },
  };
  return packed({ read: trace.sourceText, kinds: drawn.map((kind) => kindOf(kind, trace, shown.template)), frames, curve }, shown);
}

/** The caption of that act. @type {(rival: Rival) => string} */
export function dividedCaption({ word, other }) {
  return tr("Every square is a head; a crossed one gives nothing. Below, how far {word} is ahead of {other} while heads go, strongest first, and in {n} random orders.", {
    ...{ word: quoted(word), other: quoted(other), n: OF_ACTS.RANDOM_ORDERS },
  });
}

/** The translation, with the word that is ahead by then. @type {(tokens: string[], rival: Rival, isAhead: boolean) => Written} */
function writtenTo(tokens, { place, word, other }, isAhead) {
  const words = wordsOfText(tokens).filter(({ special }) => !special);
  return words.map(({ text, tokens: { length }, first, joins }, number) => {
    const space = number && !joins ? " " : "";
    if (first <= place && place < first + length) return [space + (isAhead ? word : other), isAhead ? "word" : "other"];
    return [space + text, first > place ? "pale" : ""];
  });
}

/** A probability as a person reads it. @type {(logProb: number) => string} */
function probability(logProb) {
  const value = Math.exp(logProb);
  return value < CERTAIN ? tr("below {value}", { value: CERTAIN }) : signed(value, 3);
}

/** All heads of a kind. @type {(kind: string, trace: EngineTrace, template: FigureTemplate) => import("./types.d.ts").ActKind} */
function kindOf(kind, { maps }, { kinds }) {
  const own = maps.filter((map) => map.kind === kind);
  const [{ heads, queries: rows, keys: columns }] = own;
  const weights = new Uint8Array(own.length * heads * rows * columns);
  own.forEach((map, layer) => weights.set(Uint8Array.from(map.weights, (weight) => weight * 255 + 0.5), layer * heads * rows * columns));
  const { name = kind } = kinds.find((each) => each.kind === kind) ?? {};
  return { name, layers: own.length, heads, rows, columns, weights: [weights] };
}

// ---- swap one thought ---------------------------------------------------------------------------------------------

/** Sentences in which one word is another of its kind, nouns first. @type {(sentence: string, language: string) => string[]} */
export function neighbours(sentence, language) {
  const found = new Map([...sentence.matchAll(/\p{L}+/gu)].reverse().map((each) => [each[0].toLowerCase(), each]));
  return [...swapsOf(language)].flatMap(([word, other]) => {
    const place = found.get(word);
    if (!place) return [];
    const isLarge = place[0][0] !== place[0][0].toLowerCase();
    const shown = isLarge ? other[0].toUpperCase() + other.slice(1) : other;
    return [sentence.slice(0, place.index) + shown + sentence.slice(place.index + word.length)];
  });
}

/** What stands in for each word of a language. @type {(language: string) => Map<string, string>} */
function swapsOf(language) {
  const listed = /** @type {Record<string, { both: string[][]; "one way": string[][] }>} */ (swaps)[language];
  /** @type {Map<string, string>} */
  const words = new Map();
  for (const [one, other] of listed?.both ?? []) {
    if (!words.has(one)) words.set(one, other);
    if (!words.has(other)) words.set(other, one);
  }
  for (const [one, other] of listed?.["one way"] ?? []) words.set(one, other);
  return words;
}

/** How many words of a text another one lacks. @type {(before: string, after: string) => number} */
export function changedWords(before, after) {
  return changed(before, after).reduce((sum, [text, mark]) => sum + (mark ? text.split(/\s+/).filter(Boolean).length : 0), 0);
}

/** Places of two sources that belong together. @type {(first: Pieces, second: Pieces) => [number, number][]} */
export function counterparts(first, second) {
  return sharedPlaces(first.tokens, second.tokens);
}

/** A hidden state of another sentence crosses over, and its translation too.
 * @type {(runs: { own: EngineTranslation, other: EngineTranslation }, found: Swapped, shown: Shown) => Bytes} */
export function swappedAct({ own, other }, { stage, to, from, comes, share, shares, width, telling, before }, shown) {
  const [first, second] = [own.source, other.source].map(axisTexts);
  const word = quoted(axisTexts(other.predictions)[telling]);
  const [one, two] = [quoted(first[to]), quoted(second[from])];
  const where = stage ? tr("encoder layer {layer}", { layer: stage - 1 }) : tr("the embedding");
  const [was, now] = [percent(before), percent(share)];
  const change = { word, was, now };
  const falls = share < before ? tr("{word} falls from {was} to {now}.", change) : tr("{word} rises from {was} to {now}.", change);
  const moved = was === now ? tr("{word} stays at {was}.", change) : falls;
  const n = changedWords(own.sourceText, other.sourceText);
  const differs = tr("{other} differs in {n} words.", { n, other: quoted(other.sourceText) }, "{other} differs in one word.");
  /** @type {(name: string, written: Written, said: string, stage: number) => ActFrame} */
  const frame = (name, written, said, at) => ({ name, written, said, off: [], trace: 0, stage: at });
  const plain = /** @type {Written} */ ([[own.text, ""]]);
  const arrives = comes === other.text;
  const frames = [
    frame(tr("One sentence"), plain, quoted(own.sourceText), 0),
    frame(tr("Another"), changed(own.text, other.text), differs, 1),
    frame(tr("One state crosses"), plain, tr("The first sentence once more; but after {where}, the {n} numbers of {one} are those of {other} in the second.", { where, n: width, one, other: two }), 2),
    frame(tr("What it writes"), changed(own.text, comes), arrives ? tr("All else is the first sentence’s, and the translation is the second’s.") : moved, 2),
    frame(tr("Any other state"), changed(own.text, comes), tr("How likely {word} becomes if this one state crosses instead: {share} without any.", { word, share: was }), 3),
  ];
  const stages = shares.map((_, number) => (number ? tr("Layer {layer}", { layer: number - 1 }) : tr("Embedding")));
  return packed({ read: own.sourceText, frames, states: { stages, first, second, at: [stage, to, from], shares: shares.flat() } }, shown);
}

/** The caption of that act. */
export function swappedCaption() {
  return tr("Every square is the state of a token after a layer of the encoder, lowest first. One of the second sentence stands in for one of the first.");
}

// ---- both ---------------------------------------------------------------------------------------------------------

/** A text in which the words that another one lacks are marked as new. @type {(before: string, after: string) => Written} */
function changed(before, after) {
  const pieces = wordChanges(before, after).filter(([change]) => change !== "removed");
  return pieces.map(([change, text], place) => [place ? text : text.trimStart(), change === "added" ? "new" : ""]);
}

/** @type {(word: string) => string} */
function quoted(word) {
  return tr("“{word}”", { word });
}

/** @type {(text: string) => string} */
function visible(text) {
  return [...text].map(visibleCharacter).join("");
}

/** @type {(act: { read: string, frames: ActFrame[], kinds?: object[], curve?: object | null, states?: object | null }, shown: Shown) => Bytes} */
function packed({ read, frames, kinds = [], curve = null, states = null }, { key, title, template, stage }) {
  const shown = frames.map((frame) => ({ ...frame, said: visible(frame.said), written: shortened(frame.written) }));
  return sealed({
    ...{ payload: "act", key, title, stage, plays: true, seconds: OF_ACTS.SECONDS, themes: template.themes, read: visible(read) },
    ...{ alt: `${title}. ${frames.map(({ name, said }) => `${name}: ${said}`).join(" ")}`, kinds, frames: shown, curve, states },
  });
}

/** @type {(written: Written) => Written} */
function shortened(written) {
  /** @type {Written} */
  const pieces = [];
  let room = OF_ACTS.MOST_LETTERS;
  for (const [text, mark] of written) {
    const shown = visible(text);
    if ([...shown].length > room) return [...pieces, [`${[...shown].slice(0, room).join("")}…`, mark]];
    pieces.push([shown, mark]);
    room -= [...shown].length;
  }
  return pieces;
}
