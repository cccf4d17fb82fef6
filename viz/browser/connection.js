/**
 * Calls back when the page has lost its server and has one again. That may be another one, such as a restarted one,
 * which knows nothing of the page until it has run it: what a person did first would be lost.
 * @param {() => void} callback
 * @returns {() => void} stops listening.
 */
export function onReconnect(callback) {
  const app = document.querySelector("[data-test-connection-state]");
  let isLost = false;
  const observer = new MutationObserver(() => {
    const isConnected = app.dataset.testConnectionState === "CONNECTED";
    if (isLost && isConnected) callback();
    isLost = !isConnected;
  });
  if (app) observer.observe(app, { attributeFilter: ["data-test-connection-state"] });
  return () => observer.disconnect();
}
