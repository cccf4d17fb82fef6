// What the service worker works with: the checks know a page's names, not a worker's.

declare const SITE: { version: string; files: string[]; models: string[]; named: string[] };

interface Lasting extends Event {
  waitUntil(done: Promise<unknown>): void;
}

interface Fetching extends Event {
  request: Request;
  respondWith(response: Promise<Response | undefined>): void;
}

interface WorkerScope {
  registration: ServiceWorkerRegistration;
  clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", hear: (event: Lasting) => void): void;
  addEventListener(type: "fetch", hear: (event: Fetching) => void): void;
}
