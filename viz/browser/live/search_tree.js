// Where each hypothesis of a search stands, in lines that are read as a text is (viz/decoding/tree.py), and the envelope of what
// one of them looked at (viz/decoding/payload.py).

import constants from "../../draw/constants.json" with { type: "json" };
import { isSpecial } from "./grouping.js";
import { CONTINUED, WORD_START, tokenText } from "./labels.js";
import { sealed } from "./sealed.js";
import { joinedTexts } from "./writing.js";

/** @typedef {import("../engine/search_nodes.js").SearchNode & { token: string }} TreeNode */
/** @typedef {[x: number, y: number]} Point */
/** The corners of the line to a hypothesis, in one part or two, and its fate. @typedef {{ point: Point, lines: Point[][], branch: "translation" | "found" | "pruned" }} Placed */

const [LETTER, DIGIT, NARROWEST, BEND, SCORE, MOST_IN_NODE, BETWEEN] = [7.6, 6.6, 40, 26, 72, 14, 0.7];
export const ASIDE = constants.RING + 2;
const START = "<s>";

/** A token, shortened if it is long. @type {(node: TreeNode) => string} */
export function nodeLabel({ token }) {
  const text = tokenText(token);
  return text.length <= MOST_IN_NODE ? text : `${text.slice(0, MOST_IN_NODE - 1)}…`;
}

/** Every branch as places of nodes: translations first, best first, then what else ended, then the longest.
 * @type {(nodes: TreeNode[]) => number[][]} */
export function branchesOf(nodes) {
  const continued = new Set(nodes.map(({ parent }) => parent));
  const key = (/** @type {number} */ place) => {
    const { rank, score, step } = nodes[place];
    return [rank ?? Infinity, Number(score === null), -step, place];
  };
  const before = (/** @type {number[]} */ one, /** @type {number[]} */ other) => {
    const differs = one.findIndex((value, i) => value !== other[i]);
    return differs < 0 ? 0 : one[differs] - other[differs];
  };
  const ends = [...nodes.keys()].filter((place) => !continued.has(place)).sort((one, other) => before(key(one), key(other)));
  return ends.map((end) => {
    const path = [end];
    for (let parent = nodes[end].parent; parent !== null; parent = nodes[parent].parent) path.unshift(parent);
    return path;
  });
}

/** A row for each node, no two on one place, row 0 for the translation. @type {(nodes: TreeNode[]) => { rows: number[], fates: Placed["branch"][] }} */
function rowsOf(nodes) {
  /** @type {Point[][]} */
  const taken = [];
  const rows = nodes.map(() => -1);
  /** @type {Placed["branch"][]} */
  const fates = nodes.map(() => "pruned");
  for (const path of branchesOf(nodes)) {
    const own = path.filter((place) => rows[place] < 0);
    const [first, last] = [nodes[own[0]], nodes[path[path.length - 1]]];
    const beside = first.parent === null ? 0 : rows[first.parent];
    const isFree = (/** @type {number} */ row) => (taken[row] ?? []).every(([from, to]) => last.step < from || to < first.step);
    const free = [...Array(taken.length + 1).keys()].slice(taken.length ? 1 : 0).filter(isFree);
    const row = free.sort((one, other) => Math.abs(one - beside) - Math.abs(other - beside) || other - one)[0];
    (taken[row] ??= []).push([first.step, last.step]);
    for (const place of own) {
      rows[place] = row;
      if (last.score !== null) fates[place] = last.rank === 0 ? "translation" : "found";
    }
  }
  return { rows, fates };
}

/** The places of all hypotheses in lines of so many pixels: x in pixels, y in rows, with the rows in all.
 * @type {(nodes: TreeNode[], across: number, written: (logProb: number) => string) => { places: Placed[], height: number }} */
export function treeOf(nodes, across, written) {
  const { rows, fates } = rowsOf(nodes);
  const widths = [LETTER * START.length + BEND];
  for (const node of nodes) {
    const label = LETTER * nodeLabel(node).length;
    const width = ASIDE + (node.score === null ? Math.max(label, DIGIT * written(node.logProb).length) + BEND : label + SCORE);
    widths[node.step + 1] = Math.max(widths[node.step + 1] ?? NARROWEST, width);
  }
  // Of each step: its line, and the left edge of its token there. Step 0 is the start.
  const [lines, lefts] = [[0], [0]];
  widths.forEach((width, step) => {
    const right = lefts[step] + width;
    const isFull = step + 1 < widths.length && right + widths[step + 1] > across;
    lines.push(lines[step] + Number(isFull));
    lefts.push(isFull ? BEND : right);
  });
  const rowBefore = (/** @type {TreeNode} */ { parent }) => (parent === null ? 0 : rows[parent]);
  /** @type {Set<number>[]} */
  const used = [new Set([0])];
  nodes.forEach((node, place) => [rows[place], rowBefore(node)].forEach((row) => (used[lines[node.step + 1]] ??= new Set()).add(row)));
  let top = 0;
  const heights = used.map((each) => {
    const start = top;
    top += each.size + BETWEEN;
    return new Map([...each].sort((one, other) => one - other).map((row, place) => [row, start + place]));
  });
  const height = (/** @type {number} */ line, /** @type {number} */ row) => heights[line].get(row) ?? 0;
  const places = nodes.map((node, place) => {
    const { step } = node;
    const [line, x] = [lines[step + 1], lefts[step + 1]];
    /** @type {Point} */
    const point = [x, height(line, rows[place])];
    /** @type {Point[]} */
    const bend = [[x - BEND, height(line, rowBefore(node))], point];
    /** @type {Point} */
    const start = [lefts[step], height(lines[step], rowBefore(node))];
    /** @type {Point} */
    const edge = [lefts[step] + widths[step], start[1]];
    return { point, lines: line === lines[step] ? [[start, ...bend]] : [[start, edge], bend], branch: fates[place] };
  });
  return { places, height: top - BETWEEN };
}

/** The envelope of a tree's branches; `cross` is what each node looked at, and `words` say what became of it.
 * @type {(nodes: TreeNode[], given: { chart: string, themes: Themes, source: Pieces, cross: Mean | null, words(place: number): string[] }) => Bytes} */
export function packedBranches(nodes, { chart, themes, source, cross, words }) {
  const listed = nodes.map(({ token, parent }, place) => {
    const text = tokenText(token);
    const joins = parent !== null && !token.startsWith(WORD_START) && !isSpecial(token);
    return { text: text.startsWith(CONTINUED) ? text.slice(CONTINUED.length) : text, joins, parent, words: words(place) };
  });
  const ends = branchesOf(nodes).map((path) => path[path.length - 1]);
  return sealed({ payload: "branches", chart, themes, source: joinedTexts(source.tokens), cross, nodes: listed, ends });
}
