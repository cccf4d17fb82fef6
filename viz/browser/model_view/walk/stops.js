// The stops of the walk, from the trace of the visitor's own sentence: each says only what the trace shows.

import { percent } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";
import { areWaves, crossHead, headsIn, isMark, looksOf, maskOf, NEARLY_ALL, PATTERN_ORDER, patternOf, peak, quotable, sharesOf, strongestLook } from "./reading.js";

// With fewer, a walk shows too little.
const LEAST_STOPS = 6;
// A sum of weights that were sent as bytes.
const SUM_OFF = 0.002;

/** The stops that hold for this sentence in this model, in order. @type {(figure: Walked, page: { can: Can }) => Stop[]} */
export function stopsOf(figure, { can }) {
  const [first] = figure.stacks;
  const decoder = figure.stacks.find(({ kind }) => kind === "decoder");
  const close = closeHead(figure, first);
  return [
    tokensStop(figure, first),
    numbersStop(first),
    headsStop(figure, first),
    ...(close ? [headStop(close, first), weightStop(figure, close, first), rowStop(figure, close, first)] : []),
    decoder && maskStop(figure, decoder),
    decoder && crossStop(figure, decoder),
    nextStop(figure, can),
    can.without ? offStop(figure, decoder, close) : null,
  ].filter((stop) => stop !== null && stop !== undefined);
}

/** Whether these are enough stops for a walk. @type {(stops: Stop[]) => boolean} */
export function isOffered(stops) {
  return stops.length >= LEAST_STOPS;
}

/** @type {(figure: Walked, stack: FigureStack) => Stop} */
function tokensStop(figure, stack) {
  const tokens = stack.tokens.filter((text) => !isMark(text));
  const n = tokens.length;
  const isRead = stack.kind === "encoder";
  const split = isRead ? figure.read.filter(({ special }) => !special).toSorted((one, other) => other.tokens.length - one.tokens.length)[0] : undefined;
  const ends = isRead && stack.tokens.at(-1) === "</s>";
  let says = isRead ? tr(n === 1 ? "Your sentence is a single token." : "Your sentence falls into {n} tokens.", { n }) : tr(n === 1 ? "The text is a single token." : "The text falls into {n} tokens.", { n });
  if (split && split.tokens.length > 1 && split.tokens.length < n) {
    says = tr("Your sentence falls into {n} tokens: “{word}” alone takes {count}.", { n, word: split.text, count: split.tokens.length });
  } else if (isRead && n > 1 && tokens.every((text) => [...text.replace(/^…(?=.)/, "")].length === 1)) {
    says = tr("Your text falls into {n} tokens, each of them a single character.", { n });
  }
  return {
    ...{ name: "tokens", title: tr("Tokens"), place: { at: "stack", stack: stack.kind }, says, lit: {}, moves: "tokens", does: null, act: "" },
    aside: ends ? tr("The model adds {end}, which marks the end.", { end: "</s>" }) : "",
  };
}

/** @type {(stack: FigureStack) => Stop} */
function numbersStop({ kind, positions }) {
  const acts = positions?.acts;
  const added = positions && !acts ? positions : null;
  const waves = added !== null && areWaves(added);
  let says = tr("Each token becomes a row of numbers, which every layer then changes.");
  if (added) {
    says = waves
      ? tr("Each token becomes {n} numbers; waves that tell its place in the sentence are added.", { n: added.of })
      : tr("Each token becomes {n} numbers; numbers for its place in the sentence are added.", { n: added.of });
  } else if (acts) says = tr("Each token becomes a row of numbers; its place only counts later, inside attention.");
  return {
    ...{ name: "numbers", title: tr("Numbers"), place: positions ? { at: "positions", stack: kind } : { at: "stack", stack: kind } },
    ...{ says, lit: {}, moves: waves ? "waves" : "numbers", does: null, act: "" },
    aside: added && kind === "encoder" ? tr("Without them, the order of the words would not count.") : "",
  };
}

/** @type {(figure: Walked, stack: FigureStack) => Stop} */
function headsStop(figure, { blocks: [block] }) {
  const n = block.heads;
  const all = figure.stacks.flatMap(({ blocks }) => blocks).reduce((sum, { heads, layers }) => sum + heads * layers.length, 0);
  let says = tr(n === 1 ? "This head decides which token looks at which." : "Each of these {n} heads decides which token looks at which.", { n });
  const mask = maskOf(figure, block);
  if (mask === "all" && block.keys > 1) says = tr(n === 1 ? "This head lets every token look at every other." : "Each of these {n} heads lets every token look at every other.", { n });
  else if (mask === "causal") says = tr(n === 1 ? "This head lets a token look at itself and all before it." : "Each of these {n} heads lets a token look at itself and all before it.", { n });
  return {
    ...{ name: "heads", title: tr("Heads"), place: { at: "block", kind: block.kind, layer: block.layers[0] }, says, lit: {}, moves: "rows", does: null, act: "" },
    aside: all > n ? tr("The whole model has {n} heads.", { n: all }) : "",
  };
}

/** What an earned label says of each pattern. @type {() => Record<HeadPattern["pattern"], string>} */
const patternLabels = () => ({
  previous: tr("looks at the previous token"),
  next: tr("looks at the next token"),
  same: tr("looks at the same token"),
  end: tr("looks at the sentence end"),
  start: tr("looks at the sentence start"),
});

/** @typedef {HeadInBlock & { query: number; key: number; found: HeadPattern | null; labelled: boolean }} CloseHead */

/** The head to look at closely: one that follows a pattern, rather one whose label says so; else that with the strongest look.
 * @type {(figure: Walked, stack: FigureStack) => CloseHead | null} */
function closeHead(figure, { blocks: [block], tokens }) {
  if (block.queries !== block.keys) return null;
  const labels = patternLabels();
  const heads = headsIn(block);
  const found = heads.flatMap((each) => {
    const pattern = patternOf(figure.cells(block, each.place, each.head), tokens);
    return pattern ? [{ ...each, ...pattern, found: pattern, labelled: block.labels[each.place]?.[each.head] === labels[pattern.pattern] }] : [];
  });
  const rank = (/** @type {typeof found[number]} */ each) => 10 * PATTERN_ORDER.indexOf(each.pattern) - (each.labelled ? 5 : 0) - each.mean;
  const [best] = found.toSorted((one, other) => rank(one) - rank(other));
  if (best) return best;
  const look = strongestLook(figure, heads, tokens);
  return look && { ...look, found: null, labelled: false };
}

/** @type {(close: HeadInBlock) => { kind: string; layer: number; head: number }} */
const headPlace = ({ block, place, head }) => ({ kind: block.kind, layer: block.layers[place], head });

/** @type {(close: CloseHead, stack: FigureStack) => Stop} */
function headStop(close, { tokens }) {
  const { query, key, found, labelled } = close;
  const named = { query: tokens[query], key: tokens[key] };
  const says = {
    previous: tr("This head looks one token back: “{query}” looks at “{key}”.", named),
    next: tr("This head looks one token ahead: “{query}” looks at “{key}”.", named),
    same: tr("In this head, tokens look at themselves, “{query}” among them.", { query: named.query }),
    end: tr("This head looks at the end of the sentence: “{query}” looks at “{key}”.", named),
    start: tr("This head looks at the start of the sentence: “{query}” looks at “{key}”.", named),
    none: tr("One head, seen closely: “{query}” looks most at “{key}”.", named),
  }[found?.pattern ?? "none"];
  const aside = found ? tr("It does so in {rows} of {of} rows of this sentence.", { rows: found.rows, of: found.of }) : "";
  return {
    ...{ name: "head", title: tr("One head"), place: { at: "head", ...headPlace(close) }, says, lit: { query }, moves: "head", does: null, act: "" },
    aside: labelled ? tr("Nobody told it to. It does so in most sentences.") : aside,
  };
}

/** A share as a reader has it, and never "100%" for less. @type {(share: number) => string} */
function shareText(share) {
  if (share >= NEARLY_ALL) return tr("more than {share}", { share: percent(NEARLY_ALL) });
  return share < 0.01 ? tr("less than {share}", { share: percent(0.01) }) : percent(share);
}

/** @type {(figure: Walked, close: CloseHead, stack: FigureStack) => Stop} */
function weightStop(figure, close, { tokens, positions }) {
  const { query, key, block, place, head } = close;
  const share = shareText(sharesOf(figure.cells(block, place, head), query)[key]);
  const named = { query: tokens[query], key: tokens[key], share };
  let says = tr("“{query}” asks, “{key}” answers: how well they match becomes one weight, {share}.", named);
  if (positions?.acts) says = tr("“{query}” asks, “{key}” answers: their match and their places become one weight, {share}.", named);
  if (query === key) says = tr("“{query}” asks and answers itself: the match becomes one weight, {share}.", named);
  return {
    ...{ name: "weight", title: tr("One weight"), place: { at: "weight", ...headPlace(close), query, key }, says, lit: { query, key } },
    ...{ aside: tr("The question is called query, the answer key."), moves: "weight", does: null, act: "" },
  };
}

/** @type {(figure: Walked, close: CloseHead, stack: FigureStack) => Stop | null} */
function rowStop(figure, close, { tokens }) {
  const { query, block, place, head } = close;
  const row = sharesOf(figure.cells(block, place, head), query);
  const sum = row.reduce((total, each) => total + each, 0);
  // Weights that were made otherwise than by a softmax need not add up.
  if (Math.abs(sum - 1) > SUM_OFF * (row.length + 1)) return null;
  const most = peak(row);
  const second = peak(row.map((weight, key) => (key === most ? -1 : weight)));
  const named = { query: tokens[query], first: tokens[most], share: shareText(row[most]), second: tokens[second], next: shareText(row[second]) };
  return {
    ...{ name: "row", title: tr("One row"), place: { at: "row", ...headPlace(close), query }, lit: { query } },
    says:
      row[second] < 0.01
        ? tr("Softmax lets the row of “{query}” add up to 1; “{first}” gets {share}.", named)
        : tr("Softmax lets the row of “{query}” add up to 1; “{first}” gets {share}, “{second}” {next}.", named),
    ...{ aside: tr("In these shares, the values of the tokens are mixed and passed on."), moves: "mix", does: null, act: "" },
  };
}

/** @type {(figure: Walked, stack: FigureStack) => Stop | null} */
function maskStop(figure, { blocks: [block], tokens }) {
  const mask = maskOf(figure, block);
  if (tokens.length < 2 || mask === "other") return null;
  const quoted = tokens.slice(1).flatMap((next, query) => (isMark(tokens[query]) || isMark(next) ? [] : [query]));
  // One in the middle has grey on its right and none on its left.
  const query = quoted[Math.floor(quoted.length / 2)] ?? 0;
  const named = { token: tokens[query], next: tokens[query + 1] };
  return {
    ...{ name: "mask", title: tr("The mask"), place: { at: "head", kind: block.kind, layer: block.layers[0], head: 0 }, lit: { query, key: query + 1 } },
    says:
      mask === "causal"
        ? tr("“{token}” may not look ahead to “{next}”: the decoder has to predict that.", named)
        : tr("No mask here: “{token}” may look ahead to “{next}”, which it should predict.", named),
    aside: mask === "causal" ? tr("Trained without this mask, a model would only learn to copy.") : "",
    ...{ moves: "mask", does: null, act: "" },
  };
}

/** @type {(figure: Walked, stack: FigureStack) => Stop | null} */
function crossStop(figure, { blocks }) {
  const block = blocks.find(({ kind }) => kind === "cross");
  if (!block) return null;
  const chosen = crossHead(figure, block);
  const looks = looksOf(figure, chosen);
  // From one word to the next, the source goes on by one or two places where both languages have the same order.
  const jumps = looks.map((look, place) => {
    const before = looks[place - 1];
    const words = quotable(figure.written[look.word].text) && quotable(figure.read[look.read].text);
    const jump = words && before?.word === look.word - 1 ? look.read - before.read : 0;
    return jump < 0 || jump > 2 ? jump : 0;
  });
  const farthest = Math.max(0, ...jumps.map(Math.abs));
  if (!looks.length) return null;
  const told = looks.findLastIndex(({ word, read }) => quotable(figure.written[word].text) && quotable(figure.read[read].text));
  const place = farthest ? jumps.findLastIndex((jump) => Math.abs(jump) === farthest) : told < 0 ? looks.length - 1 : told;
  const [look, n, after] = [looks[place], farthest, chosen.later > 0];
  // A row that looks back is no less out of order for spreading its weight.
  const all = looksOf(figure, chosen, 0);
  const inOrder = looks.length > 2 && looks.length >= 0.8 * figure.written.length && all.every(({ read }, each) => !each || all[each - 1].read <= read);
  const named = { word: figure.written[look.word].text, seen: figure.read[look.read].text };
  let says = after ? tr("After “{word}”, this head looks at “{seen}” in your sentence.", named) : tr("To write “{word}”, this head looks at “{seen}” in your sentence.", named);
  if (jumps[place] < 0) {
    says = after
      ? tr(n === 1 ? "After “{word}”, this head jumps back one place in your sentence, to “{seen}”." : "After “{word}”, this head jumps back {n} places in your sentence, to “{seen}”.", { ...named, n })
      : tr(n === 1 ? "To write “{word}”, this head jumps back one place in your sentence, to “{seen}”." : "To write “{word}”, this head jumps back {n} places in your sentence, to “{seen}”.", { ...named, n });
  } else if (jumps[place] > 0) {
    says = after
      ? tr("After “{word}”, this head jumps ahead {n} places in your sentence, to “{seen}”.", { ...named, n })
      : tr("To write “{word}”, this head jumps ahead {n} places in your sentence, to “{seen}”.", { ...named, n });
  } else if (inOrder) says = tr("This head goes through your sentence in order, up to “{seen}”.", { seen: named.seen });
  return {
    ...{ name: "cross", title: tr("Cross-attention"), place: { at: "head", ...headPlace(chosen) }, says },
    ...{ aside: tr("Here the decoder asks, and the encoder answers."), lit: { query: look.query, key: look.key }, moves: "cross", does: null, act: "" },
  };
}

/** @type {(figure: Walked, can: Can) => Stop | null} */
function nextStop({ next }, can) {
  // The step whose other token was nearest to being taken.
  const offers = (next ?? []).flatMap(({ texts, shares, chosen, ids }, step) => {
    const other = chosen ? 0 : 1;
    const told = texts.length > 1 && !isMark(texts[chosen]) && !isMark(texts[other]) && texts[chosen] !== texts[other];
    return told ? [{ step, word: texts[chosen], share: shares[chosen], other: texts[other], rival: shares[other], id: ids[other], chosen }] : [];
  });
  const worth = (/** @type {typeof offers[number]} */ { word, other, rival }) => (quotable(word) && quotable(other) ? 1 : 0) + rival;
  const [best] = offers.toSorted((one, two) => worth(two) - worth(one));
  if (!best) return null;
  const { step, id, other, word } = best;
  const named = { word, other, share: shareText(best.share), next: shareText(best.rival) };
  return {
    ...{ name: "next", title: tr("What comes next"), place: { at: "next", step }, lit: {}, moves: "list" },
    says: best.chosen
      ? tr("Here “{word}” has a probability of {share}, though “{other}” has {next}.", named)
      : tr("Here “{word}” has a probability of {share}; second comes “{other}” with {next}.", named),
    aside: can.instead ? tr("Take the other one: the model writes on from there.") : "",
    does: can.instead ? { ask: "instead", step, id } : null,
    act: can.instead ? tr("Take “{other}”", { other }) : "",
  };
}

/** @type {(figure: Walked, decoder: FigureStack | undefined, close: CloseHead | null) => Stop | null} */
function offStop(figure, decoder, close) {
  // Where nothing is written, nothing can change.
  if (!decoder || !figure.written.length) return null;
  const cross = decoder.blocks.find(({ kind }) => kind === "cross");
  if (!cross) return close && withoutHead(headPlace(close));
  /** @type {NamedHead[]} */
  const heads = headsIn(cross).map((each) => [cross.kind, cross.layers[each.place], each.head]);
  return {
    ...{ name: "off", title: tr("Without cross-attention"), place: { at: "stack", stack: decoder.kind }, lit: {}, moves: "off", does: { ask: "without", heads } },
    ...{ says: tr("Switch off cross-attention, and the decoder writes without seeing your sentence."), act: tr("Switch it off") },
    aside: heads.length > 1 ? tr("All {n} of its heads at once.", { n: heads.length }) : "",
  };
}

/** @type {(head: { kind: string; layer: number; head: number }) => Stop} */
function withoutHead({ kind, layer, head }) {
  return {
    ...{ name: "off", title: tr("Without a head"), place: { at: "head", kind, layer, head }, lit: {}, moves: "off", aside: "" },
    ...{ says: tr("Switch this head off, and see whether the words change."), does: { ask: "without", heads: [[kind, layer, head]] }, act: tr("Switch this head off") },
  };
}
