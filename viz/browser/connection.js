/**
 * Calls back after the page has reconnected. A restarted server does not know the page until it has run its script;
 * without that run, the person's first action would be lost.
 * @param {() => void} callback
 * @returns {() => void} stops listening.
 */
export function onReconnect(callback) {
  const app = /** @type {HTMLElement | null} */ (document.querySelector("[data-test-connection-state]"));
  let isLost = false;
  const observer = new MutationObserver(() => {
    const isConnected = app?.dataset.testConnectionState === "CONNECTED";
    if (isLost && isConnected) callback();
    isLost = !isConnected;
  });
  if (app) observer.observe(app, { attributeFilter: ["data-test-connection-state"] });
  return () => observer.disconnect();
}
