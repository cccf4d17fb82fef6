// The pages of the site, by their names in an address.

import { ComparePage } from "./compare.js";
import { CorpusPage } from "./corpus.js";
import { DecodingPage } from "./decoding.js";
import { HeadsPage, ModelPage } from "./figure_pages.js";
import { AboutPage, EffectsPage, MasksPage, PositionsPage } from "./views.js";

/** @import { Site } from "./site.js" */
/** @import { SitePage } from "./view.js" */

/** @type {Record<string, (new (talk: Site) => SitePage) & Pick<typeof SitePage, "honours" | "beside" | "runs">>} */
export const PAGES = {
  model: ModelPage,
  heads: HeadsPage,
  corpus: CorpusPage,
  effects: EffectsPage,
  compare: ComparePage,
  decoding: DecodingPage,
  masks: MasksPage,
  positions: PositionsPage,
  about: AboutPage,
};
