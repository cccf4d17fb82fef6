// Asks the app's server (viz/server/asking.py).

import { opened } from "./envelope.js";
import { tr } from "./wording.js";

/** The values of an answer; an Error says why there is none. @type {(where: { url: string }, question: object, signal?: AbortSignal | null) => Promise<unknown>} */
export async function serverAnswer({ url, ...about }, question, signal = null) {
  const away = () => new Error(tr("The server did not answer; try again in a moment."));
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ ...about, ...question }), signal };
  const answer = await fetch(new URL(url, document.baseURI), sent).catch((error) => {
    throw signal?.aborted ? error : away();
  });
  if (!answer.ok) {
    const { error = null } = await answer.json().catch(() => ({}));
    throw typeof error === "string" ? new Error(error) : away();
  }
  const { payload, ...values } = /** @type {{ payload: string }} */ (opened(new Uint8Array(await answer.arrayBuffer())).values);
  return values;
}
