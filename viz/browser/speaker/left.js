// Whether the view of a scene is still the one that is shown.

// A player that plays shows its own scene still.
const OWN = new Set(["scene", "talk", "present", "read", "at"]);

/**
 * Whether the address shows another view than that of a scene; null while a next scene was asked for, of which neither
 * the words nor the picture are here yet.
 */
export function hasLeft({ number, views }, search = location.search) {
  const query = Object.fromEntries(new URLSearchParams(search));
  if (query.scene !== undefined && query.scene !== String(number)) return null;
  const spelled = (view) =>
    JSON.stringify(Object.entries(view).filter(([name]) => !OWN.has(name)).sort(([one], [other]) => (one < other ? -1 : 1)));
  return !views.some((view) => spelled(view) === spelled(query));
}
