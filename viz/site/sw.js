// Keeps the site on the device: its files at once, each model's once it has been used.

/* global SITE -- the site's files, written by static.py ahead of this script. */

const worker = /** @type {WorkerScope} */ (/** @type {unknown} */ (self));

const OWN = `headscope-${SITE.version}`;
// Files with names that change with their content outlive a version of the site.
const KEPT = "headscope-models";

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(OWN).then((cache) => cache.addAll(SITE.files)).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(tidied().then(() => worker.clients.claim()));
});

async function tidied() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith("headscope-") && ![OWN, KEPT].includes(name)).map((name) => caches.delete(name)));
  const known = new Set(SITE.models.map((path) => new URL(path, worker.registration.scope).href));
  const cache = await caches.open(KEPT);
  await Promise.all((await cache.keys()).filter(({ url }) => !known.has(url)).map((request) => cache.delete(request)));
}

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const path = request.url.slice(worker.registration.scope.length);
  if (request.method !== "GET" || !request.url.startsWith(worker.registration.scope)) return;
  if (request.mode === "navigate") event.respondWith(page(request, path));
  else if (SITE.named.some((folder) => path.startsWith(folder))) event.respondWith(kept(request));
  else if (SITE.files.includes(path)) event.respondWith(fetch(request).catch(() => caches.match(request.url)));
});

/** A page as it is now, or as it was where there is no network.
 * @type {(request: Request, path: string) => Promise<Response>} */
async function page(request, path) {
  try {
    return await fetch(request);
  } catch (error) {
    const [folder] = path.split(/[?#]/);
    const known = folder && SITE.files.includes(folder) ? folder : SITE.files.includes(`${folder}/`) ? `${folder}/` : "./";
    const found = await caches.match(new URL(known, worker.registration.scope).href);
    if (found) return found;
    throw error;
  }
}

/** A file that never changes: from this device, or fetched once. @type {(request: Request) => Promise<Response>} */
async function kept(request) {
  const found = await caches.match(request.url);
  if (found) return found;
  const response = await fetch(request);
  if (response.ok) {
    const copy = response.clone();
    caches.open(KEPT).then((cache) => cache.put(request.url, copy));
  }
  return response;
}
