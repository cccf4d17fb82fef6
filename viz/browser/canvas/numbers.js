// Numbers as people write them in the language of the page: English in the app, the reader's own in the site.

/** @type {Map<string, Intl.NumberFormat>} */
const FORMATS = new Map();
// A number that stands alone, of a text made in English: "1.20", "−0.8", "1,234", "38%", "88–93%", "< 1%".
const ALONE = /^(?:[<>≤≥~] ?)?[−-]?\d[\d,]*(?:\.\d+)?(?:–\d[\d,]*(?:\.\d+)?)?%?$/;

/** @type {(language: string, options: Intl.NumberFormatOptions) => Intl.NumberFormat} */
function formatOf(language, options) {
  const key = `${language} ${JSON.stringify(options)}`;
  const format = FORMATS.get(key) ?? new Intl.NumberFormat(language, options);
  FORMATS.set(key, format);
  return format;
}

function pageLanguage() {
  return globalThis.headscopeWording?.language ?? "en";
}

/** A format's text with a minus sign instead of a hyphen, and a narrow space before its unit.
 * @type {(text: string) => string} */
function inPrint(text) {
  return text.replace("-", "−").replaceAll("\u00a0", "\u202f");
}

/** A number as it is with so many digits after the point. @type {(value: number, digits: number) => number} */
export function toDigits(value, digits) {
  const text = value.toFixed(digits);
  // Of two that are equally near, `toFixed` takes the larger one, and Python the even one.
  const isOddTie = /[13579]$/.test(text) && /50{20}$/.test(value.toFixed(digits + 21));
  return (isOddTie ? toDigits(Number(text) - Math.sign(value) * 10 ** -digits, digits) : Number(text)) || 0;
}

/**
 * A number with `digits` digits after the point, or with those that it has: "−0.79", "1,234", and "−0,79", "1.234" in German.
 *
 * A minus is −, and there is no "−0".
 * @type {(value: number, digits?: number | null, language?: string) => string}
 */
export function signed(value, digits = null, language = pageLanguage()) {
  if (digits === null) return inPrint(formatOf(language, { maximumFractionDigits: 10 }).format(value || 0));
  // `toFixed` rounds the number itself, as Python does; a format would round its shortest spelling.
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: !digits };
  return inPrint(formatOf(language, options).format(toDigits(value, digits)));
}

/** A number with so many significant digits. @type {(value: number, digits: number) => string} */
export function precise(value, digits) {
  const options = { minimumSignificantDigits: digits, maximumSignificantDigits: digits, useGrouping: false };
  return inPrint(formatOf(pageLanguage(), options).format(value));
}

/** A share in percent: "38%", "3.1%", and "38 %" where the language has a space.
 * @type {(share: number, digits?: number) => string} */
export function percent(share, digits = 0) {
  /** @type {Intl.NumberFormatOptions} */
  const options = { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits };
  return inPrint(formatOf(pageLanguage(), options).format(toDigits(100 * share, digits) / 100));
}

/** Millions in words, from what English says: "11.5 million", "11,5 Millionen", "1150 万".
 * @type {(english: string) => string} */
export function millions(english) {
  /** @type {Intl.NumberFormatOptions} */
  const options = { notation: "compact", compactDisplay: "long", maximumFractionDigits: 1 };
  const text = formatOf(pageLanguage(), options).format(1e6 * Number(english.replaceAll(",", "")));
  return inPrint(text).replace(/(?<=\d)(?=\p{Script=Han})/u, "\u202f");
}

/** A text that is one number, or two from where to where, written in English; others as they are.
 * @type {(text: string) => string} */
export function localized(text) {
  if (!ALONE.test(text)) return text;
  const sign = percent(1).replace(/.*\d/, "");
  return text
    .replace(/[−-]?\d[\d,]*(?:\.\d+)?/g, (number) => {
      const plain = number.replaceAll(",", "").replace("−", "-");
      const [, decimals = ""] = plain.split(".");
      return signed(Number(plain), decimals.length);
    })
    .replace("%", sign);
}
