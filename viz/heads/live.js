// A model in a page of its own: a sentence is translated, its heads shown, and heads switched off, all without a server.

import { opened } from "../browser/canvas/envelope.js";
import { ALL_ON_EVENT } from "../browser/canvas/shared.js";
import { EngineClient } from "../browser/engine/client.js";
import { Explorer } from "../browser/explorer/explorer.js";
import { inflated } from "../browser/live/inflated.js";
import { packedTrace } from "../browser/live/packing.js";

const at = (selector) => document.querySelector(selector);
const packedText = (name) => at(`#${name}`).textContent;

/** The engine in a worker, with the model of this page; resolved when it is ready. */
async function started() {
  const code = new Blob([packedText("worker")], { type: "text/javascript" });
  const address = URL.createObjectURL(code);
  const worker = new Worker(address);
  const failed = new Promise((_, reject) => {
    worker.addEventListener("error", (event) => reject(new Error(event.message || "its worker did not start")));
  });
  const engine = new EngineClient(worker);
  const [weights, tokenizer] = await Promise.all([inflated(packedText("weights")), inflated(packedText("tokenizer"))]);
  const files = { config: JSON.parse(packedText("config")), weights, tokenizer };
  await Promise.race([engine.call("load", [files]), failed]);
  URL.revokeObjectURL(address);
  for (const name of ["weights", "tokenizer", "worker"]) at(`#${name}`).remove();
  return engine;
}

/** The edit that switches off a head as a selection names it, such as "cross.0.1". */
function withoutHead(name) {
  const [kind, layer, head] = name.split(".");
  return { kind, layer: Number(layer), head: Number(head), gate: 0 };
}

class LivePage {
  constructor(bytes) {
    this.bytes = bytes;
    this.template = opened(bytes).header;
    this.text = at("#sentence").value;
    this.off = [];
    this.trace = null;
    // What runs for the present sentence, and what of it measures the heads.
    this.stop = new AbortController();
    this.measuring = null;
    const root = at("#explorer").shadowRoot.querySelector(".explorer");
    this.explorer = new Explorer(root, { canAskPython: false, canSwitchOff: true });
    this.show();
    this.ready = started();
    this.ready.then(
      () => {
        at("#run").disabled = false;
        this.say("");
      },
      (error) => this.trouble(`This browser cannot run the model (${error.message}); use a browser from 2023 or later.`),
    );
    at("#form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask({ text: at("#sentence").value, off: this.off });
    });
    at("#restore").addEventListener("click", () => document.dispatchEvent(new CustomEvent(ALL_ON_EVENT)));
    // It draws anew where the page's background has changed.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  show() {
    this.explorer.update(this.bytes, (selection) => this.follow(selection));
  }

  /** Does what the selection in the picture asks of the model. */
  follow({ off, order }) {
    if (off !== this.off.map(({ kind, layer, head }) => `${kind}.${layer}.${head}`).join("-")) {
      this.ask({ text: this.text, off: off.split("-").filter(Boolean).map(withoutHead) });
    } else if (order === this.template.onDemand) this.measure();
  }

  /** Has the model translate a sentence without some heads; a request that still runs is given up. */
  async ask({ text, off }) {
    this.stop.abort();
    const { signal } = (this.stop = new AbortController());
    const before = { text: this.text, trace: this.trace };
    // At once, for a head that is switched off before this is done to be off as well.
    Object.assign(this, { text, off, trace: null });
    this.say("Translating …");
    try {
      const engine = await this.ready;
      const trace = await engine.call("trace", [text, { under: { heads: off } }], { signal });
      const whole = off.length ? await engine.call("translate", [text], { signal }) : trace;
      if (signal.aborted) return;
      this.trace = trace;
      this.bytes = packedTrace(this.template, trace);
      this.show();
      this.write(trace.text, whole.text);
      this.say("");
      if (this.explorer.state.order === this.template.onDemand) await this.measure();
    } catch (error) {
      if (error.kind === "Cancelled") return;
      Object.assign(this, before);
      this.trouble(error.message);
    }
  }

  write(text, whole) {
    at("#translation").textContent = text || "(nothing written)";
    at("#removed").hidden = !this.off.length;
    const names = new Map(this.template.kinds.map(({ kind, name }) => [kind, name.toLowerCase()]));
    const heads = this.off.map(({ kind, layer, head }) => `${names.get(kind)}, layer ${layer}, head ${head}`);
    const change = whole === text ? "The translation stays the same." : `With all heads: ${whole || "(nothing written)"}`;
    at("#without").textContent = `Without ${heads.join("; ")}. ${change}`;
  }

  /** Measures what the translation loses without each head, by which heads can then be ordered. */
  async measure() {
    const { signal } = this.stop;
    if (this.measuring === signal || this.off.length) return;
    this.measuring = signal;
    this.say("Measuring every head …");
    try {
      const engine = await this.ready;
      this.trace ??= await engine.call("trace", [this.text], { signal });
      const effects = await engine.call("effects", [this.trace], { signal });
      if (signal.aborted) return;
      this.bytes = packedTrace(this.template, this.trace, { effects });
      this.show();
      this.say("");
    } catch (error) {
      if (error.kind !== "Cancelled") this.trouble(error.message);
    }
  }

  say(text) {
    at("#status").textContent = text;
    at("#trouble").textContent = "";
  }

  trouble(text) {
    this.say("");
    at("#trouble").textContent = text;
  }
}

inflated(packedText("payload")).then(
  (bytes) => new LivePage(bytes),
  (error) => {
    at("#trouble").textContent = `This browser cannot draw the picture (${error.message}); use a browser from 2023 or later.`;
  },
);
