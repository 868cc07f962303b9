/**
 * How the page to try a question shows numbers and answers. Answers are written by anybody: they
 * are text and nothing else, never longer than a line or two unless one asks, and what they hold
 * that cannot be seen, or turns text around, is shown as its code.
 */

/** So many characters of an answer are shown where its whole text would be in the way. */
const LONG = 80;
const SHORT = 50;

/** @param {string} id */
export const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Make an element.
 * @param {string} tag @param {Record<string, string>} attributes @param {(string | Node)[]} children
 */
export const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** A whole number with its thousands apart. @param {number} number */
export const count = (number) => number.toLocaleString("en");

/** @param {number} number */
export const answers = (number) => (number === 1 ? "1 answer" : `${count(number)} answers`);

/** A number to some digits, without zeros at its end. @param {number} number */
export const precise = (number, digits = 5) => String(+number.toPrecision(digits));

/** A share in percent, with the digits that tell it from none and from all. @param {number} share */
export const percent = (share) => {
  const distance = Math.min(share, 1 - share);
  if (distance < 1e-12) return share < 0.5 ? "practically 0 %" : "practically 100 %";
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(100 * distance)), 1), 14);
  return `${+(100 * share).toFixed(digits)} %`;
};

/** Odds in words, to four digits. @param {number} share */
export const odds = (share) => {
  const against = (1 - share) / share;
  const most = Math.max(against, 1 / against);
  const shown = most.toLocaleString("en", { maximumSignificantDigits: 4 });
  return against > 1 ? `1 to ${shown}` : `${shown} to 1`;
};

/** A probability of which the logarithm is known; it may be below all numbers. @param {number} log */
export const small = (log) => {
  if (log > -4) return [(10 ** log).toPrecision(5)];
  const power = Math.floor(log);
  const mantissa = (10 ** (log - power)).toFixed(4);
  return [`${mantissa} × 10`, make("sup", {}, String(power).replace("-", "−"))];
};

/** @param {Uint8Array} bytes */
export const hex = (bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** The code of a character, written as in the tables of estimates. @param {string} c */
const escaped = (c) => {
  const code = /** @type {number} */ (c.codePointAt(0)).toString(16);
  const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[c];
  const [letter, length] = code.length < 3 ? ["x", 2] : code.length < 5 ? ["u", 4] : ["U", 8];
  return named ?? `\\${letter}${code.padStart(length, "0")}`;
};

/** A label without what cannot be seen, or turns the text around. @param {string} label */
const printable = (label) => label.replace(/[^\P{C}]|[^\P{Z} ]/gu, escaped) || '""';

/** The beginning of a label. @param {string} label @param {number} most */
export const brief = (label, most = LONG) => {
  const shown = printable(label.slice(0, 2 * most));
  return shown.length > most || label.length > 2 * most ? `${shown.slice(0, most)}…` : shown;
};

/** An answer inside a sentence. @param {string} label */
export const quoted = (label) => make("bdi", { class: "answer" }, `“${brief(label, SHORT)}”`);

/** An answer on its own; of a long one the whole text can be opened. @param {string} label */
export const listed = (label) => {
  const start = make("bdi", {}, brief(label));
  if (label.length <= 2 * LONG && brief(label) === printable(label)) return [start];
  const summary = make("summary", {}, `all ${count(label.length)} characters`);
  return [start, make("details", {}, summary, make("bdi", {}, printable(label)))];
};

/** A bar of some share of the full width. @param {number} share @param {boolean} own */
export const bar = (share, own) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const frame = { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "share" };
  svg.setAttribute("aria-hidden", "true");
  const size = { width: (100 * share).toFixed(2), height: "10", class: own ? "own" : "" };
  for (const [name, value] of Object.entries(frame)) svg.setAttribute(name, value);
  for (const [name, value] of Object.entries(size)) rect.setAttribute(name, value);
  svg.append(rect);
  return svg;
};
