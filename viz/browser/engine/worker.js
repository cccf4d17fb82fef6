// The engine behind messages, in a worker.
//
// A request is {id, method, args}, answered by {id, result} or {id, error: {kind, message}}. `load`
// takes the files of a checkpoint; the other methods are those of Engine. {cancel: id} ends a request
// that runs or waits, which is then answered by an error of the kind "Cancelled".

import { Engine } from "./engine.js";

const METHODS = ["describe", "translate", "trace", "effects", "read", "table", "added", "next", "tree", "lens", "terms", "deleted", "attributed", "deciding", "swapped"];

/** @typedef {{ id: number, method: string, args?: unknown[] }} Asked */

class Cancelled extends Error {}

/** Answers the messages of a port: a worker's own, or one of a MessageChannel. @type {(port: Port) => void} */
export function serve(port) {
  /** @type {Set<number>} */
  const cancelled = new Set();
  /** @type {Engine | null} */
  let engine = null;
  let last = Promise.resolve();

  /** @type {(request: Asked) => Promise<unknown>} */
  async function answer({ id, method, args = [] }) {
    const turn = async () => {
      await nextTask();
      if (cancelled.has(id)) throw new Cancelled("The request was cancelled.");
    };
    await turn();
    if (method === "load") {
      engine = await Engine.load(.../** @type {Parameters<typeof Engine.load>} */ (args));
      return engine.describe();
    }
    if (!METHODS.includes(method)) throw new Error(`The engine has no method ${method}.`);
    if (!engine) throw new Error("No model is loaded yet; load one first.");
    const [given, options = {}] = args;
    const run = /** @type {Record<string, (given: unknown, options: object) => unknown>} */ (/** @type {unknown} */ (engine))[method];
    return run.call(engine, given, { .../** @type {object} */ (options), turn });
  }

  /** @type {(request: Asked) => Promise<void>} */
  async function reply(request) {
    try {
      const result = await answer(request);
      port.postMessage({ id: request.id, result }, [...buffersOf(result)]);
    } catch (caught) {
      const error = /** @type {Error} */ (caught);
      port.postMessage({ id: request.id, error: { kind: error.constructor.name, message: error.message } });
    }
    cancelled.delete(request.id);
  }

  port.onmessage = ({ data }) => {
    if (data.cancel !== undefined) cancelled.add(data.cancel);
    else last = last.then(() => reply(data));
  };
}

/** The buffers of the arrays in a result, which go over to the page without being copied.
 * @type {(value: unknown, found?: Set<ArrayBuffer>) => Set<ArrayBuffer>} */
function buffersOf(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(/** @type {ArrayBuffer} */ (value.buffer));
  else if (value && typeof value === "object") for (const each of Object.values(value)) buffersOf(each, found);
  return found;
}

/** Lets messages that wait be read. @type {() => Promise<void>} */
function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

if (typeof WorkerGlobalScope !== "undefined" && globalThis instanceof WorkerGlobalScope) serve(/** @type {Port} */ (/** @type {unknown} */ (globalThis)));
