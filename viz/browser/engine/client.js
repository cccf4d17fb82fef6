// The page's side of the engine in a worker (worker.js).

/** An error of the engine: `kind` is its class there, such as "TextError" or "Cancelled". */
export class EngineError extends Error {
  /** @param {{ kind: string, message: string }} error */
  constructor({ kind, message }) {
    super(message);
    this.kind = kind;
  }
}

/** Calls methods of the engine behind a port: a Worker, or one end of a MessageChannel. */
export class EngineClient {
  /** @type {Map<number, { resolve(result: unknown): void, reject(error: EngineError): void }>} */
  waiting = new Map();

  /** @param {Port} port */
  constructor(port) {
    this.port = port;
    this.last = 0;
    port.onmessage = ({ data: { id, result, error } }) => {
      const request = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) request?.reject(new EngineError(error));
      else request?.resolve(result);
    };
  }

  /**
   * The result of a method, given its arguments; an AbortSignal ends it.
   *
   * @type {<Result>(method: string, args: unknown[], options?: { signal?: AbortSignal | null }) => Promise<Result>}
   */
  call(method, args, { signal = null } = {}) {
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.port.postMessage({ id, method, args });
      signal?.addEventListener("abort", () => this.waiting.has(id) && this.port.postMessage({ cancel: id }), { once: true });
    });
  }
}
