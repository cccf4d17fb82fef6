// Checks whether the page still shows a scene's view.

// Names a talk adds to the address, and the step of a player, which stays within its scene.
const OWN = new Set(["scene", "talk", "present", "read", "at"]);

/**
 * Whether the address differs from a scene's view; null while the next scene, text and picture, is still loading.
 *
 * @type {(scene: Pick<Scene, "number" | "views">, search?: string) => boolean | null}
 */
export function hasLeft({ number, views }, search = location.search) {
  const query = Object.fromEntries(new URLSearchParams(search));
  if (query.scene !== undefined && query.scene !== String(number)) return null;
  const spelled = (/** @type {View} */ view) =>
    JSON.stringify(Object.entries(view).filter(([name]) => !OWN.has(name)).sort(([one], [other]) => (one < other ? -1 : 1)));
  return !views.some((view) => spelled(view) === spelled(query));
}
