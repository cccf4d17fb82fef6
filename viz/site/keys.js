// What a link of the app asks for that this site does not show (viz/site/keys.py).

/** @typedef {Record<string, (value: string, query: View) => boolean>} Honours */

const LONGEST_VALUE = 40;

/**
 * The keys of an address that its page does not honour, written with their values: `lacking` are those without which its
 * picture is another one, `unused` those that say nothing of the picture.
 *
 * @param {View} query - of the address.
 * @param {object} of
 * @param {Record<string, string | null>} of.known - each key of the page with the app's default; null where that depends on
 *   the model.
 * @param {Record<string, string | null>} of.around - the same of keys that are no part of a view.
 * @param {Honours} of.honours - by key, whether the page shows a value.
 * @param {string[]} of.beside - keys that say nothing of the page's picture.
 */
export function unhonoured(query, { known, around, honours, beside }) {
  /** @type {string[][]} */
  const [lacking, unused] = [[], []];
  for (const [key, value] of Object.entries(query)) {
    const isOther = value !== (known[key] ?? around[key] ?? "");
    if (Object.hasOwn(honours, key)) {
      if (!honours[key](value, query)) lacking.push(named(key, value));
    } else if (Object.hasOwn(around, key) || beside.includes(key)) {
      if (isOther) unused.push(named(key, value));
    } else if (Object.hasOwn(known, key) && isOther) lacking.push(named(key, value));
  }
  return { lacking, unused };
}

/** A key with its value, shortened, for a sentence. @type {(key: string, value: string) => string} */
export function named(key, value) {
  const letters = [...value];
  return `${key}=${letters.length > LONGEST_VALUE ? `${letters.slice(0, LONGEST_VALUE).join("")}…` : value}`;
}
