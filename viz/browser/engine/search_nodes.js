// Every hypothesis that a search held, parents first (model/translate/search_record.py).

import { extended } from "./decoding.js";

/**
 * A hypothesis by its last token: its `parent`, null for a first token; `fate` is "continued", "pruned", "finished" or "cut";
 * `rank`, from 0, is that of a result of the search, and `score` that of what ended.
 *
 * @typedef {{ parent: number | null, id: number, step: number, logProb: number, fate: string, score: number | null, rank: number | null }} SearchNode
 */

/** @type {(paths: SearchPath[], found: FoundHypothesis[], options: { alpha: number, eos: number }) => SearchNode[]} */
export function nodesOf(paths, found, { alpha, eos }) {
  const places = new Map(paths.map((path, place) => [path, place]));
  const continued = new Set(paths.map(({ parent }) => parent));
  const left = found.map(({ ids }) => ids.join());
  return paths.map((path) => {
    const { parent, token, total, length } = path;
    const rank = continued.has(path) ? -1 : left.indexOf(idsOf(path).join());
    // Several samples may be the same.
    if (rank >= 0) left[rank] = "";
    const ended = token === eos || rank >= 0;
    return {
      ...{ parent: parent && (places.get(parent) ?? null), id: token, step: length - 1, logProb: total },
      fate: ended ? (token === eos ? "finished" : "cut") : continued.has(path) ? "continued" : "pruned",
      ...{ score: ended ? total / ((5 + length) / 6) ** alpha : null, rank: rank < 0 ? null : rank },
    };
  });
}

/** The paths of hypotheses that were drawn one by one; their first tokens, as many as `given`, cost nothing.
 * @type {(found: FoundHypothesis[], given: number) => SearchPath[]} */
export function pathsOf(found, given) {
  return found.flatMap(({ ids, logProbs }) => {
    /** @type {SearchPath[]} */
    const paths = [];
    ids.forEach((token, place) => paths.push(extended(paths.at(-1) ?? null, token, logProbs[place], given)));
    return paths;
  });
}

/** All tokens of a hypothesis. @type {(path: SearchPath) => number[]} */
export function idsOf(path) {
  const ids = [path.token];
  for (let before = path.parent; before; before = before.parent) ids.unshift(before.token);
  return ids;
}
