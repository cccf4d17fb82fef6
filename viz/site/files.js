// The files of a model: in this page as text, or fetched from the site.

import { part } from "../browser/canvas/dom.js";
import { EngineClient } from "../browser/engine/client.js";
import { inflate, inflated } from "../browser/live/inflated.js";
import { say } from "./words.js";

/**
 * @typedef {object} Known
 * @property {{ name: string, card: string }[]} models
 * @property {Record<string, string>} code - where scripts are.
 * @property {Record<string, View>} keys - of each page, and of none, with the app's defaults.
 * @property {Record<string, Phrases>} words - by language.
 * @property {Record<string, { said: Phrases, headers: Phrases }>} wording
 */
/**
 * @typedef {{ path: string, name: string, reads: string, well_read: number | null, sentence: string, examples: string[], config: Partial<ModelConfig>,
 *   files: Record<string, string[]>, survey: Record<string, string[]>, openings: Record<string, string>, about: string, cells: { light: string[], dark: string[] } }} Card
 */

// A part of a file is asked for so often, with this pause between.
const TRIES = 30;
const PAUSE = 2000;

// The cache of sw.js for files whose names change with their content.
const KEPT_MODELS = "headscope-models";

/** @type {Known | null} */
let known = null;

/** What the page knows of itself: where its code is, which models there are, and its words. @type {() => Known} */
export function site() {
  known ??= /** @type {Known} */ (JSON.parse(textOf("site")));
  return known;
}

// Of the address that the page came from: links within the site change it later.
const ROOT = new URL(document.documentElement.dataset.root ?? "", location.href.split(/[?#]/)[0]);

/** The folder of the site's files. */
export function siteRoot() {
  return ROOT;
}

/** @type {(name: string) => string} */
export function textOf(name) {
  return part(document, `#${name}`).textContent;
}

/** Whether the model is in this page. */
export function isPacked() {
  return document.querySelector("#weights") !== null;
}

/** A file that is not to be had; the message says so in the reader's language. */
export class FileError extends Error {
  /** @param {string} message */
  constructor(message, { isAway = false } = {}) {
    super(message);
    // Whether there is no network to fetch it by.
    this.isAway = isAway;
  }
}

/** The bytes of a file, with how much has come as a share.
 * @type {(address: URL, onShare: (share: number) => void) => Promise<Bytes>} */
async function fetchedBytes(address, onShare) {
  const response = await fetch(address).catch(() => {
    throw new FileError(say("no_network"), { isAway: true });
  });
  if (!response.ok) throw new FileError(say("no_file", { file: address.pathname, status: response.status }));
  const total = Number(response.headers.get("content-length"));
  const encoded = response.headers.get("content-encoding");
  /** @type {Bytes[]} */
  const parts = [];
  let length = 0;
  if (!response.body) return new Uint8Array(await response.arrayBuffer());
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (total && !encoded) onShare(length / total);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The bytes of a file that comes in parts, one after another, with how much has come as a share.
 *
 * What has come stays: a part that fails is asked for again, and a browser keeps the others.
 *
 * @type {(paths: string[], onShare: (share: number) => void) => Promise<Bytes>} */
async function joinedParts(paths, onShare) {
  /** @type {Bytes[]} */
  const parts = [];
  for (const [place, path] of paths.entries()) {
    const onPart = (/** @type {number} */ share) => onShare((place + share) / paths.length);
    const ask = () => fetchedBytes(new URL(path, siteRoot()), onPart);
    let part = null;
    // Where not even the first part came there is no network, and its absence is said at once.
    for (let tries = place ? TRIES : 1; !part; tries -= 1) {
      part = await ask().catch((error) => {
        const isBroken = !(error instanceof FileError) || error.isAway;
        if (tries === 1 || !isBroken) throw error;
        return null;
      });
      if (!part) await new Promise((again) => setTimeout(again, PAUSE));
    }
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The worker that runs the engine, with the model of a card in it.
 * @type {(card: Card, onShare: (share: number) => void) => Promise<EngineClient>} */
export async function startedEngine(card, onShare) {
  const packed = isPacked();
  const address = packed
    ? URL.createObjectURL(new Blob([await inflated(textOf("worker"))], { type: "text/javascript" }))
    : new URL(site().code.worker, siteRoot()).href;
  const worker = new Worker(address);
  const failed = new Promise((_, reject) => {
    worker.addEventListener("error", (event) => reject(new Error(event.message || "its worker did not start")));
  });
  const engine = new EngineClient(worker);
  const bytesOf = (/** @type {string} */ name) =>
    packed ? inflated(textOf(name)) : joinedParts(card.files[name], name === "weights" ? onShare : () => {});
  const load = async () => {
    const [weights, tokenizer] = await Promise.all([bytesOf("weights"), bytesOf("tokenizer")]);
    await engine.call("load", [{ config: card.config, weights, tokenizer }]);
  };
  await Promise.race([load(), failed]);
  if (packed) {
    URL.revokeObjectURL(address);
    for (const name of ["tokenizer", "worker", "weights"]) part(document, `#${name}`).textContent = "";
  }
  return engine;
}

/** A file of a model's survey; null where it is not here.
 * @type {(card: Card, name: string, onShare: (share: number) => void) => Promise<Bytes | null>} */
export async function surveyFile(card, name, onShare) {
  if (isPacked()) {
    const text = document.getElementById(name)?.textContent;
    return text ? inflated(text) : null;
  }
  const paths = card.survey[name];
  return paths ? inflate(await joinedParts(paths, onShare)) : null;
}

/** The card of the model that is asked for, or else of one that is here, with the error that says why.
 * @type {(name: string) => Promise<{ card: Card; error: FileError | null }>} */
export async function cardOrOther(name) {
  try {
    return { card: await cardOf(name), error: null };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    for (const other of site().models) {
      const card = await cardOf(other.name).catch(() => null);
      if (card) return { card, error };
    }
    throw error;
  }
}

/** The card of a model: its configuration, examples, and what its pages open with.
 * @type {(name: string) => Promise<Card>} */
export async function cardOf(name) {
  if (isPacked()) return JSON.parse(textOf("card"));
  const { card: path } = site().models.find((each) => each.name === name) ?? site().models[0];
  const bytes = await fetchedBytes(new URL(path, siteRoot()), () => {});
  return { path, ...JSON.parse(new TextDecoder().decode(bytes)) };
}

/** Has the service worker keep the site, a model's card and files of it, which came before it on a first visit.
 * @type {(card: Card, files?: Record<string, string[]>) => Promise<void>} */
export async function keep(card, files = {}) {
  if (isPacked() || !("serviceWorker" in navigator)) return;
  await navigator.serviceWorker.register(new URL("sw.js", siteRoot()));
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) {
    await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
  }
  const cache = await caches.open(KEPT_MODELS);
  for (const path of [card.path, ...Object.values(files).flat()]) {
    const address = new URL(path, siteRoot()).href;
    if (!(await cache.match(address))) await cache.add(address);
  }
  document.documentElement.dataset.kept = "yes";
}
