// The files of a model: in this page as text, or fetched from the site.

import { EngineClient } from "../browser/engine/client.js";
import { inflated } from "../browser/live/inflated.js";
import { say } from "./words.js";

let known = null;

/** What the page knows of itself: where its code is, which models there are, and its words. */
export function site() {
  known ??= JSON.parse(textOf("site"));
  return known;
}

// Of the address that the page came from: links within the site change it later.
const ROOT = new URL(document.documentElement.dataset.root, location.href.split(/[?#]/)[0]);

/** The folder of the site's files. */
export function siteRoot() {
  return ROOT;
}

export function textOf(name) {
  return document.querySelector(`#${name}`).textContent;
}

/** Whether the model is in this page. */
export function isPacked() {
  return document.querySelector("#weights") !== null;
}

/** A file that is not to be had; the message says so in the reader's language. */
export class FileError extends Error {
  constructor(message, { isAway = false } = {}) {
    super(message);
    // Whether there is no network to fetch it by.
    this.isAway = isAway;
  }
}

/** The bytes of a file, with how much has come as a share. */
async function fetchedBytes(address, onShare) {
  const response = await fetch(address).catch(() => {
    throw new FileError(say("no_network"), { isAway: true });
  });
  if (!response.ok) throw new FileError(say("no_file", { file: address.pathname, status: response.status }));
  const total = Number(response.headers.get("content-length"));
  const encoded = response.headers.get("content-encoding");
  const parts = [];
  let length = 0;
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

/** The worker that runs the engine, with the model of a card in it. */
export async function startedEngine(card, onShare) {
  const packed = isPacked();
  const address = packed
    ? URL.createObjectURL(new Blob([textOf("worker")], { type: "text/javascript" }))
    : new URL(site().code.worker, siteRoot()).href;
  const worker = new Worker(address);
  const failed = new Promise((_, reject) => {
    worker.addEventListener("error", (event) => reject(new Error(event.message || "its worker did not start")));
  });
  const engine = new EngineClient(worker);
  engine.end = () => worker.terminate();
  const bytesOf = (name) =>
    packed ? inflated(textOf(name)) : fetchedBytes(new URL(card.files[name], siteRoot()), name === "weights" ? onShare : () => {});
  const load = async () => {
    const [weights, tokenizer] = await Promise.all([bytesOf("weights"), bytesOf("tokenizer")]);
    await engine.call("load", [{ config: card.config, weights, tokenizer }]);
  };
  await Promise.race([load(), failed]);
  if (packed) {
    URL.revokeObjectURL(address);
    for (const name of ["tokenizer", "worker"]) document.querySelector(`#${name}`).textContent = "";
    document.querySelector("#weights").textContent = "";
  }
  return engine;
}

/** The card of the model that is asked for, or else of one that is here, with the error that says why. */
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

/** The card of a model: its configuration, examples, and what its pages open with. */
export async function cardOf(name) {
  if (isPacked()) return JSON.parse(textOf("card"));
  const { card: path } = site().models.find((each) => each.name === name) ?? site().models[0];
  const bytes = await fetchedBytes(new URL(path, siteRoot()), () => {});
  return { path, ...JSON.parse(new TextDecoder().decode(bytes)) };
}
