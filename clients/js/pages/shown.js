/**
 * How the page on which a question can be tried shows numbers and answers. Anybody may have written an
 * answer, so it is shown as text and nothing else, cut to a line or two unless opened, and characters
 * that are invisible or reverse the text are shown as codes.
 */

/** Number of other answers to an open question that are compared. */
const COMPARED = 1000;

/** Number of characters of an answer that are shown in lists and inside sentences. */
const LONG = 80;
const SHORT = 50;

/** Joiners, which emoji and Persian are written with, stay between visible characters. */
const JOINERS = new Set(["\u200c", "\u200d"]);
const HIDDEN = /[^\P{C}]|[^\P{Z} ]/gu;

/** Whether a place is between two visible characters. @param {string} text @param {number} at */
const inside = (text, at) => /[^\p{C}\p{Z}]$/u.test(text.slice(Math.max(0, at - 2), at)) && /^[^\p{C}\p{Z}]/u.test(text.slice(at + 1));

/** Put values where a sentence has their names in braces. @param {string | undefined} text @param {Record<string, string | number>} values */
export const fill = (text, values) => (text ?? "").replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));

/** @param {string} id */
export const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** The answers that a person wrote to compare with. */
export const compared = () => {
  const { value } = /** @type {HTMLTextAreaElement} */ (find("others"));
  return value.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, COMPARED);
};

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

/** A whole number with separators of thousands. @param {number} number */
export const count = (number) => number.toLocaleString("en");

/** @param {number} number */
export const answers = (number) => (number === 1 ? "1 answer" : `${count(number)} answers`);

/** A number to some digits, without zeros at its end. @param {number} number */
export const precise = (number, digits = 5) => String(+number.toPrecision(digits));

/** A share in percent, with enough digits to tell it from 0 % and from 100 %. @param {number} share */
export const percent = (share) => {
  const distance = Math.min(share, 1 - share);
  if (distance < 1e-12) return share < 0.5 ? "practically 0 %" : "practically 100 %";
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(100 * distance)), 1), 14);
  return `${+(100 * share).toFixed(digits)} %`;
};

/** Odds in words, to four digits. @param {number} odds for over against */
export const inWords = (odds) => {
  const most = Math.max(odds, 1 / odds);
  const shown = most < 1e15 ? most.toLocaleString("en", { maximumSignificantDigits: 4 }) : precise(most, 4);
  return odds < 1 ? `1 to ${shown}` : `${shown} to 1`;
};

/** A probability given by its logarithm; it may be too small for a number. @param {number} log */
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

/** A label with codes for characters that are invisible or reverse the text. @param {string} label */
const printable = (label) => label.replace(HIDDEN, (c, at) => (JOINERS.has(c) && inside(label, at) ? c : escaped(c))) || '""';

/** The beginning of a label. @param {string} label @param {number} most */
export const brief = (label, most = LONG) => {
  // By code points, so that no surrogate pair is cut.
  const start = [...label.slice(0, 2 * most + 1)].slice(0, most + 1);
  const shown = [...printable(start.join(""))];
  return shown.length > most ? `${shown.slice(0, most).join("")}…` : shown.join("");
};

/** An answer inside a sentence. @param {string} label */
export const quoted = (label) => make("bdi", { class: "answer" }, `“${brief(label, SHORT)}”`);

/** An answer on its own; a long one can be opened in full. @param {string} label */
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
