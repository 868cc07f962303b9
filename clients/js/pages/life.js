/**
 * The life of one report, written into the page: the dice, the bytes, the answers that they might
 * have come from, and what an observer believed before and believes after.
 */

/**
 * @typedef {import("./laws.js").Law} Law
 * @typedef {import("./laws.js").Phrase} Phrase
 * @typedef {import("./laws.js").Reading} Reading
 * @typedef {{ label: string, value: bigint }} Candidate
 * @typedef {object} Question  What the client makes of a question.
 * @property {string[] | null} labels
 * @property {(answer: any, source?: (count: number) => Uint8Array) => Promise<Uint8Array>} privatize
 * @typedef {object} Draw  One report, its dice, and which candidates it fits.
 * @property {Uint8Array} report
 * @property {Reading} reading
 * @property {bigint[]} words
 * @property {number} redrawn
 * @property {boolean[]} fits
 * @property {[missed: number, fitted: number]} others  How many answers that are not candidates it does not fit, and fits.
 * @typedef {(string | Node)[]} Content
 */

import { system } from "../src/words.ts";
import { exactly, logarithm, wordsOf } from "./laws.js";
import { answers, bar, count, find, hex, listed, inWords, make, percent, precise, quoted, small } from "./shown.js";

const { dataset } = find("try");

/** Up to this many answers a table lists one by one; of more it lists some and counts the rest. */
const ALL = 40;
const SOME = 20;
/** Number of answers that a sentence names. */
const NAMED = 12;

/** The browser's own generator, and all bytes that it has given. @returns {[Uint8Array[], (count: number) => Uint8Array]} */
export const noted = () => {
  /** @type {Uint8Array[]} */
  const drawn = [];
  const source = system(crypto);
  return [
    drawn,
    (count) => {
      const bytes = source(count);
      drawn.push(bytes);
      return bytes;
    },
  ];
};

/** One answer, and all reports that were drawn of it. */
export class Trial {
  /**
   * @param {Question} question @param {Law} law
   * @param {Candidate[]} candidates @param {string} answer
   */
  constructor(question, law, candidates, answer) {
    this.question = question;
    this.law = law;
    this.candidates = candidates;
    this.answer = answer;
    this.own = candidates.findIndex(({ label }) => label === answer);
    this.ratio = Number(law.ratio[0]) / Number(law.ratio[1]);
    this.draws = 0;
    /** How many of the reports fit each candidate. */
    this.hits = candidates.map(() => 0);
  }

  /** Draw a report by the client's own code, and note its dice. @returns {Promise<Draw>} */
  async draw() {
    const [drawn, source] = noted();
    const report = await this.question.privatize(this.answer, source);
    return this.take(report, drawn);
  }

  /** Note a report that was drawn. @param {Uint8Array} report @param {Uint8Array[]} drawn @param {[number, number]} others @returns {Draw} */
  take(report, drawn, others = [0, 0]) {
    const reading = this.law.read(report);
    const fits = this.candidates.map(({ value }) => reading.fits(value));
    fits.forEach((fit, i) => (this.hits[i] += Number(fit)));
    this.draws += 1;
    const words = wordsOf(drawn, this.law.limits);
    const redrawn = drawn.reduce((sum, bytes) => sum + bytes.length / 8, 0) - words.length;
    return { report, reading, words, redrawn, fits, others };
  }

  /**
   * What an observer believes of each candidate after reports of which so many fit it, who believed
   * `prior` of the answer given and the same of all others; `unlisted` are as many of no hit and of one.
   * @param {number} prior @param {number[]} hits @param {[number, number]} unlisted
   */
  beliefs(prior, hits, unlisted = [0, 0]) {
    const rest = (1 - prior) / (this.candidates.length + unlisted[0] + unlisted[1] - 1);
    // From the most hits down, so that no power is too large for a number.
    const most = hits.reduce((a, b) => Math.max(a, b), Number(unlisted[1] > 0));
    const weigh = (/** @type {number} */ n) => this.ratio ** (n - most);
    const weights = hits.map((n, i) => (i === this.own ? prior : rest) * weigh(n));
    const sum = [...weights, ...unlisted.map((many, n) => many * rest * weigh(n))].reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  }

  /** Write a phrase. @param {Phrase} phrase */
  say(phrase) {
    return phrase.map((part) => {
      if (typeof part === "string") return part;
      return quoted(part.answer === null ? this.answer : (this.candidates[part.answer]?.label ?? "nobody’s answer"));
    });
  }
}

/** A row of a table. @param {Content} head @param {Content[]} numbers @param {Node[]} more */
const row = (head, numbers, ...more) => {
  const cells = numbers.map((content) => make("td", { class: "number" }, ...content));
  return make("tr", {}, make("th", { scope: "row" }, ...head), ...cells, ...more);
};

/** The words that were drawn. @param {Trial} trial @param {Draw} draw */
const showDice = (trial, { words, redrawn }) => {
  find("given").replaceChildren("The answer is ", quoted(trial.answer), ". It stays in this page.");
  const { value } = trial.candidates[trial.own];
  const { unused = "one for each other answer", used = (all) => [...all.keys()] } = trial.law;
  const places = used(words).slice(0, SOME);
  if (!trial.law.used && words.length > SOME && value >= SOME) places.push(Number(value));
  const rows = places.map((place) => {
    const { word, decided } = trial.law.step(words, value, place);
    const code = make("code", {}, word.toString(16).padStart(16, "0"));
    const share = make("small", {}, `${precise(Number(word) / 2 ** 64, 4)} of 2⁶⁴`);
    return row([code, share], [], make("td", {}, ...trial.say(decided)));
  });
  find("dice").replaceChildren(...rows);
  const left = words.length - places.length;
  const verb = redrawn > 1 ? "words were" : "word was";
  find("more-dice").textContent = [
    left ? `And ${count(left)} more ${left > 1 ? "words" : "word"}, ${unused}.` : "",
    redrawn ? `${count(redrawn)} ${verb} drawn again, being beyond the last share.` : "",
  ].join(" ");
};

/** The report. @param {Trial} trial @param {Draw} draw */
const showBytes = (trial, { report, reading, fits, others }) => {
  const size = report.length === 1 ? "1 byte" : `${count(report.length)} bytes`;
  find("size").textContent = `${size}, in hexadecimal:`;
  find("bytes").textContent = hex(report);
  find("means").replaceChildren(...trial.say(reading.means));
  const fitting = trial.candidates.filter((_, i) => fits[i]);
  const names = fitting.slice(0, NAMED).flatMap(({ label }, i) => [i ? ", " : ": ", quoted(label)]);
  const all = fitting.length + others[1];
  const unnamed = all - Math.min(fitting.length, NAMED);
  const more = unnamed && fitting.length ? ` and ${count(unnamed)} more.` : ".";
  const share = `It fits ${count(all)} of ${answers(total(fits, others))}`;
  find("fits").replaceChildren(share, ...names, more);
};

/** Every answer that it might have come from. @param {Trial} trial @param {Draw} draw */
const showLikelihoods = (trial, { reading, fits, others }) => {
  const logs = [logarithm(reading.other), logarithm(reading.fitting)];
  /** @param {Content} head @param {boolean} fit @param {boolean} own */
  const rated = (head, fit, own = false) => {
    const compared = make("span", {}, `${fit ? precise(trial.ratio) : 1} ×`);
    const picture = bar(fit ? 1 : 1 / trial.ratio, own);
    const last = make("td", {}, make("div", { class: "compared" }, compared, picture));
    const made = row(head, [small(logs[Number(fit)])], last);
    made.classList.toggle("own", own);
    return made;
  };
  const order = [...fits.keys()].sort((a, b) => Number(fits[b]) - Number(fits[a]) || a - b);
  const some = order.filter((i, place) => place < SOME || i === trial.own);
  const chosen = order.length <= ALL ? order : some;
  const rows = chosen.map((i) => {
    const own = i === trial.own;
    const mark = own ? [make("small", {}, "your answer")] : [];
    return rated([...listed(trial.candidates[i].label), ...mark], fits[i], own);
  });
  for (const fit of [true, false]) {
    const left = tell(fits, fit) - tell(chosen.map((i) => fits[i]), fit) + others[Number(fit)];
    const how = fit ? "fits" : "does not fit";
    if (left) rows.push(rated([`each of ${count(left)} other answers that it ${how}`], fit));
  }
  find("likelihoods").replaceChildren(...rows);
  find("exact-fitting").textContent = exactly(reading.fitting);
  find("exact-other").textContent = exactly(reading.other);
};

/** How many answers there are. @param {boolean[]} fits @param {[number, number]} others */
const total = (fits, [missed, fitted]) => fits.length + missed + fitted;

/** How many of some are so. @param {boolean[]} some @param {boolean} so */
const tell = (some, so) => some.filter((each) => each === so).length;

/** What an observer believed before, and believes after. @param {Trial} trial @param {Draw} draw */
export const showOdds = (trial, { fits, others }) => {
  const d = total(fits, others);
  find("odds").hidden = d < 2;
  find("alone").hidden = d > 1;
  if (d < 2) return;
  const input = /** @type {HTMLInputElement} */ (find("prior"));
  input.placeholder = precise(100 / d, 4);
  const prior = input.value === "" ? 1 / d : Number(input.value) / 100;
  const sound = prior > 0 && prior < 1;
  input.setAttribute("aria-invalid", String(!sound));
  find("beliefs").replaceChildren(...(sound ? believed(trial, fits, prior, others) : []));
  const conclusion = sound ? concluded(trial, fits, prior, others) : ["Write a number above 0 and below 100."];
  find("conclusion").replaceChildren(...conclusion);
};

/** @param {Trial} trial @param {boolean[]} fits @param {number} prior @param {[number, number]} unlisted */
const believed = (trial, fits, prior, unlisted) => {
  const after = trial.beliefs(prior, fits.map(Number), unlisted);
  const rest = (1 - prior) / (total(fits, unlisted) - 1);
  const factor = after[trial.own] / prior / (fits[trial.own] ? trial.ratio : 1);
  const mine = [quoted(trial.answer), make("small", {}, "your answer")];
  const rows = [row(mine, [[percent(prior)], [percent(after[trial.own])]])];
  for (const fit of [true, false]) {
    const others = tell(fits.filter((_, i) => i !== trial.own), fit) + unlisted[Number(fit)];
    if (!others) continue;
    const which = others > 1 ? `each of ${count(others)} other answers` : "the other answer";
    const head = `${which} that it ${fit ? "fits" : "does not fit"}`;
    rows.push(row([head], [[percent(rest)], [percent(rest * factor * (fit ? trial.ratio : 1))]]));
  }
  return rows;
};

/** @param {Trial} trial @param {boolean[]} fits @param {number} prior @param {[number, number]} unlisted */
const concluded = (trial, fits, prior, unlisted) => {
  // From the weights, since a belief that is practically one has lost what it lacks of it.
  const others = fits.filter((_, i) => i !== trial.own);
  const share = (tell(others, true) + unlisted[1]) / total(others, unlisted);
  const against = share * trial.ratio + (1 - share);
  const factor = (fits[trial.own] ? trial.ratio : 1) / against;
  const before = prior / (1 - prior);
  const changed = factor > 1 ? `multiplied by ${precise(factor)}` : `divided by ${precise(1 / factor)}`;
  const moved = Math.abs(factor - 1) < 1e-9 ? "unchanged" : changed;
  const change = ` against all other answers were ${inWords(before)} and are now ${inWords(before * factor)}: ${moved}. `;
  const between =
    `The odds between two answers move by a factor of ${precise(trial.ratio, 7)} where the report ` +
    "fits one of them and not the other, and not at all otherwise. ";
  const bound = `The bound is e^ε = ${dataset.bound}, whatever an observer believed before.`;
  return ["The odds of ", quoted(trial.answer), change, between, bound];
};

/** What all reports that were drawn would tell together. @param {Trial} trial */
const showTogether = (trial) => {
  const d = trial.candidates.length;
  if (trial.draws < 2 || d < 2) {
    find("together").replaceChildren();
    return;
  }
  const belief = percent(trial.beliefs(1 / d, trial.hits)[trial.own]);
  find("together").replaceChildren(
    `You have drawn ${count(trial.draws)} reports of `,
    quoted(trial.answer),
    `. Had all of them been sent, an observer who considered all ${answers(d)} equally likely would ` +
      `now believe in this one with ${belief}.`,
  );
};

/** Write all parts of a draw, and what is said of the answer beforehand. @param {Trial} trial @param {Draw} draw @param {string} given */
export const showLife = (trial, draw, given = "") => {
  showDice(trial, draw);
  if (given) find("given").replaceChildren(`${given} Your answer is `, quoted(trial.answer), ". It stays in this page.");
  showBytes(trial, draw);
  showLikelihoods(trial, draw);
  showOdds(trial, draw);
  showTogether(trial);
  find("life").hidden = false;
};
