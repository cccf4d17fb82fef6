// Views of a decoding beside its steps: the search as a tree, beams of every width, and what each layer would predict.

import { drawn, element } from "../browser/canvas/dom.js";
import { percent, signed } from "../browser/canvas/numbers.js";
import { tokenText } from "../browser/live/labels.js";
import { ASIDE, nodeLabel, packedBranches, treeOf } from "../browser/live/search_tree.js";
import { meanOf } from "../browser/live/writing.js";
import { shortest } from "../browser/steps/frame.js";
import { Part } from "./parts.js";
import { say } from "./words.js";

/** @import { TreeNode } from "../browser/live/search_tree.js" */
/** @import { SiteHead } from "./view.js" */
/** @typedef {Awaited<ReturnType<import("../browser/engine/engine.js").Engine["tree"]>>} Searched */
/** @typedef {Awaited<ReturnType<import("../browser/engine/engine.js").Engine["lens"]>>} Lens */

// Hypotheses times source tokens; reading the attention of more takes seconds (viz/pages/decoding_beams.py).
export const MOST_CELLS = 20_000;
// A layer that ranks a token lower does not have it near (viz/decoding/lens.py).
const LIKELY = 10;
const [ROW, PLAIN_ROW, MARGIN, WIDEST, PHONE] = [50, 38, 14, 880, 320];
const CHART = "search-tree";

/** What it says of a number: two inHundredths. @type {(value: number) => string} */
const inHundredths = (value) => signed(value, 2);

/** Every hypothesis of a search, and the one that is pointed at with what it looked at. */
export class SearchTree {
  /** @param {Themes} themes @param {(target: string) => void} study - shows a translation on every page. */
  constructor(themes, study) {
    this.themes = themes;
    this.study = study;
    this.picture = element("div", `tree st-key-${CHART}`);
    this.branch = new Part("branches");
    this.root = element("div", "view", {}, this.picture);
    this.width = 0;
    new ResizeObserver(([{ contentRect }]) => {
      if (this.shown && contentRect.width && contentRect.width !== this.width) this.paint();
    }).observe(this.picture);
  }

  /** @type {(found: Searched, given: { every: Mean, heads: SiteHead[], forced: number, stage: boolean }) => Promise<void>} */
  async draw(found, { every, heads, forced, stage }) {
    const { nodes, looks, source } = found;
    this.shown = { found, forced, stage };
    this.root.append(this.branch.host);
    this.paint();
    this.branch.host.hidden = stage;
    const keys = source.ids.length;
    const size = nodes.length * keys;
    const layers = looks ? looks.length / size : 0;
    const map = (/** @type {number} */ layer, /** @type {number} */ count) => ({
      ...{ kind: "cross", layer, heads: count, queries: nodes.length, keys },
      weights: /** @type {Numbers} */ (looks).subarray(layer * count * size, (layer + 1) * count * size),
    });
    const count = looks ? layers / found.layers : 0;
    const cross = looks && meanOf(every, Array.from({ length: found.layers }, (_, layer) => map(layer, count)), heads);
    await this.branch.update(packedBranches(nodes, { chart: CHART, themes: this.themes, source, cross, words: (place) => this.words(place) }));
  }

  /** What became of a hypothesis. @type {(place: number) => string[]} */
  words(place) {
    const { nodes } = /** @type {{ found: Searched }} */ (this.shown).found;
    const { token, parent, logProb, score, rank, fate } = nodes[place];
    const share = shortest(Math.exp(logProb - (parent === null ? 0 : nodes[parent].logProb)));
    return [
      say("node_here", { token: tokenText(token), share }),
      say("node_so_far", { value: inHundredths(logProb) }),
      ...(score === null ? [] : [say("score", { score: inHundredths(score) })]),
      ...(rank === null ? [] : [say("node_rank", { rank: rank + 1 })]),
      ...(fate === "cut" ? [say("node_cut")] : []),
      ...(fate === "pruned" ? [say("node_pruned")] : []),
    ];
  }

  paint() {
    const { found, forced, stage } = /** @type {{ found: Searched, forced: number, stage: boolean }} */ (this.shown);
    const { nodes, candidates } = found;
    this.width = this.picture.clientWidth;
    const across = this.width && this.width < 2 * PHONE ? Math.max(PHONE, this.width - 2 * MARGIN) : WIDEST;
    const { places, height } = treeOf(nodes, across, inHundredths);
    const row = stage ? PLAIN_ROW : ROW;
    const [x, y] = [(/** @type {number} */ at) => at + MARGIN, (/** @type {number} */ at) => at * row + row / 2];
    const edges = nodes.flatMap(({ step }, place) =>
      places[place].lines.map((corners) =>
        drawn("polyline", { class: `${places[place].branch}${step < forced ? " forced" : ""}`, points: corners.map(([left, top]) => `${x(left)},${y(top)}`).join(" ") }),
      ),
    );
    const dots = nodes.flatMap((node, place) => this.dot(node, place, { at: [x(places[place].point[0]), y(places[place].point[1])], branch: places[place].branch, stage }));
    const start = drawn("g", { class: "pruned" }, drawn("circle", { cx: x(0), cy: y(0), r: 4 }), drawn("text", { x: x(5), y: y(0) - 4 }, "<s>"));
    const size = { width: across + 2 * MARGIN, height: y(height) };
    const svg = drawn(
      "svg",
      { ...size, viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": say("tree_of", { n: nodes.length }) },
      // The most important lines are drawn last, on top.
      ...edges.sort((one, other) => ORDER.indexOf(one.classList[0]) - ORDER.indexOf(other.classList[0])),
      ...[start, ...dots],
    );
    const chart = this.asChart(svg, places.map(({ point }) => [x(point[0]), y(point[1])]));
    svg.addEventListener("click", ({ target }) => {
      const { rank } = nodes[nodeAt(target)] ?? { rank: null };
      if (rank !== null) this.study(candidates[rank].text);
    });
    this.picture.replaceChildren(chart);
  }

  /** @type {(node: TreeNode, place: number, how: { at: [number, number], branch: string, stage: boolean }) => SVGElement[]} */
  dot(node, place, { at: [left, top], branch, stage }) {
    const { score, rank, logProb } = node;
    const label = nodeLabel(node);
    const shape = score === null ? drawn("circle", { cx: left, cy: top, r: 4 }) : drawn("rect", { x: left - 5, y: top - 5, width: 10, height: 10, transform: `rotate(45 ${left} ${top})` });
    const end = score === null ? [] : [drawn("tspan", { dx: 6 }, `${rank === null ? "" : `${rank + 1}. `}${inHundredths(score)}`)];
    const texts = [drawn("text", { x: left + ASIDE, y: top - 4 }, label, ...end), ...(stage ? [] : [drawn("text", { x: left + ASIDE, y: top + 13, class: "number" }, inHundredths(logProb))])];
    // A larger one is easier to meet.
    const room = drawn("circle", { cx: left, cy: top, r: 12, class: "room" });
    return [drawn("g", { class: `${branch}${rank === null ? "" : " ends"}`, "data-place": place }, shape, ...texts, room)];
  }

  /** The picture as the branches hear a chart of Plotly's. @type {(svg: SVGElement, points: number[][]) => HTMLElement} */
  asChart(svg, points) {
    svg.classList.add("main-svg");
    const axis = { _offset: 0, c2p: (/** @type {number} */ value) => value };
    const chart = element("div", "js-plotly-plot", {}, svg);
    return Object.assign(chart, {
      data: [{ x: points.map(([left]) => left), y: points.map(([, top]) => top) }],
      _fullLayout: { xaxis: axis, yaxis: axis },
      on: (/** @type {string} */ event, /** @type {Hearing} */ hear) => {
        if (event !== "plotly_hover") return;
        svg.addEventListener("pointerover", ({ target }) => {
          const place = nodeAt(target);
          if (place >= 0) hear(/** @type {never} */ ({ points: [{ customdata: [place] }] }));
        });
      },
    });
  }
}

const ORDER = ["pruned", "found", "translation"];

/** The hypothesis of an element of the tree; -1 for none. @type {(target: EventTarget | null) => number} */
function nodeAt(target) {
  const group = target instanceof Element ? target.closest("g[data-place]") : null;
  return group ? Number(group.getAttribute("data-place")) : -1;
}

/** The likeliest token of each layer at each step, under the tokens that were written. @type {(layers: Lens, tokens: string[]) => HTMLElement} */
export function layersTable(layers, tokens) {
  const texts = tokens.map(tokenText);
  const head = element("tr", "", {}, element("th", "", { scope: "col" }, say("layer")), ...texts.map((text) => element("th", "", { scope: "col", dir: "auto" }, text)));
  const rows = layers.map(({ ranks, likeliest, logProbs, tokens: best }, layer) => {
    const cells = texts.map((own, step) => {
      const [token, rank] = [tokenText(best[step]), ranks[step]];
      const shares = { share: percent(Math.exp(likeliest[step]), 1), written: percent(Math.exp(logProbs[step]), 1) };
      const title = say("lens_cell", { token, own, rank, ...shares });
      return element("td", rank === 1 ? "says" : rank <= LIKELY ? "near" : "", { title, dir: "auto" }, token);
    });
    return element("tr", "", {}, element("th", "", { scope: "row" }, String(layer)), ...cells);
  });
  return element("div", "lens", { tabindex: "0" }, element("table", "", { "aria-label": say("layers_of") }, element("thead", "", {}, head), element("tbody", "", {}, ...rows)));
}

/** What beams of each width write, from 1 on. @type {(found: EngineTranslation[]) => HTMLElement[]} */
export function widthsList(found) {
  const top = Math.max(...found.map(({ score }) => score));
  const isSplit = new Set(found.map(({ text }) => text)).size > 1;
  const firsts = found.flatMap(({ text }, place) => (place && found[place - 1].text === text ? [] : [place]));
  return firsts.map((first, number) => {
    const last = (firsts[number + 1] ?? found.length) - 1;
    const { text, score } = found[first];
    const name = first === last ? say("beam_width", { n: first + 1 }) : say("beam_widths", { from: first + 1, to: last + 1 });
    const isBest = isSplit && score === top;
    return element("li", "", {}, element(isBest ? "strong" : "span", "", { dir: "auto" }, text || say("nothing")), " ", element("small", "", {}, `${name}, ${say("score", { score: inHundredths(score) })}`));
  });
}
