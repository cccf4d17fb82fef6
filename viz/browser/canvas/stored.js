/** The browser's storage of a name, or null; where storage is forbidden, even reading the property throws.
 * @type {(name: "localStorage" | "sessionStorage") => Storage | null} */
export function storage(name) {
  try {
    return window[name];
  } catch {
    return null;
  }
}
