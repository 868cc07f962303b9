/**
 * The page on which a person answers and sees the life of a report. It draws reports as the client
 * does and sends none of them; where the question is set to collect here, a button of its own does.
 */

/**
 * @typedef {import("./laws.js").Phrase} Phrase
 * @typedef {import("./laws.js").Law} Law
 * @typedef {import("./laws.js").Reading} Reading
 * @typedef {{ name: string, labels: string[] | null, privatize: (answer: string, source?: (count: number) => Uint8Array) => Promise<Uint8Array> }} Question
 * @typedef {{ label: string, value: bigint }} Candidate
 * @typedef {{ report: Uint8Array, reading: Reading, words: bigint[], redrawn: number, fits: boolean[] }} Draw
 */

/** So many answers a table lists one by one; of more it lists some and counts the others. */
const ALL = 40;
const SOME = 20;
const RADIOS = 12;
const OPTIONS = 200;
/** The largest epsilon that is simulated; what is sent has the client's own ceiling. */
const CEILING = 100;

const OUTCOMES = {
  answered: "The collector has a report of yours to this question. Answering again changes nothing.",
  waiting: "The collector did not answer yet. The report is kept, and the same bytes are sent again.",
  refused: "The collector refused the report. Nothing more is sent.",
  maybe: "Nothing more is sent, and whether the collector counted the report is not known.",
  "opted-out": "Nothing was sent: this browser asks not to take part (opt-out or Global Privacy Control).",
  "no-storage": "Nothing was sent: this browser would forget that it was.",
  "over-budget": "Nothing was sent: earlier answers to this site have used up the privacy budget.",
};

/** @param {string} id */
const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const root = find("try");

/** @type {typeof import("./shown.js")} */
const { answers, bar, brief, count, hex, listed, make, odds, percent, precise, quoted, small } = await import(root.dataset.shown ?? "");

/** The form: which answers there are, and which one was given. */
class Choice {
  /** @param {Question} question @param {string | null} other */
  constructor(question, other) {
    this.labels = question.labels;
    this.other = other;
    this.place = find("choices");
    const d = this.labels?.length ?? Infinity;
    this.kind = d <= RADIOS ? "radio" : d <= OPTIONS ? "select" : "text";
    if (this.kind === "radio") this.#radios();
    else if (this.kind === "select") this.#select();
    else this.#text();
  }

  #radios() {
    (this.labels ?? []).forEach((label, i) => {
      const input = make("input", { type: "radio", name: "answer", value: String(i), required: "" });
      this.place.append(make("label", { class: "choice" }, input, make("bdi", {}, brief(label))));
    });
  }

  #select() {
    const select = make("select", { name: "answer", "aria-label": "Your answer" });
    select.append(...(this.labels ?? []).map((label, i) => make("option", { value: String(i) }, brief(label))));
    this.place.append(select);
  }

  #text() {
    const input = make("input", { type: "text", name: "answer", list: "known", autocomplete: "off", required: "", "aria-label": "Your answer", "aria-describedby": "wrong" });
    this.place.append(input);
    if (this.labels === null) return;
    const list = make("datalist", { id: "known" });
    this.place.append(list);
    input.addEventListener("input", () => {
      const typed = /** @type {HTMLInputElement} */ (input).value.toLowerCase();
      const near = [];
      for (const label of this.labels ?? []) {
        if (label.toLowerCase().startsWith(typed) && near.push(label) === SOME) break;
      }
      list.replaceChildren(...near.map((label) => make("option", { value: label })));
    });
  }

  /** The answer as it was given, or null if it is none. @param {HTMLFormElement} form */
  read(form) {
    const given = String(new FormData(form).get("answer") ?? "");
    if (this.labels === null) return given;
    if (this.kind !== "text") return this.labels[Number(given)] ?? null;
    return this.labels.includes(given) ? given : this.other;
  }
}

/** One answer and all reports that were drawn of it. */
class Trial {
  /** @param {Question} question @param {Law} law @param {Candidate[]} candidates @param {string} answer */
  constructor(question, law, candidates, answer) {
    this.question = question;
    this.law = law;
    this.candidates = candidates;
    this.answer = answer;
    this.own = candidates.findIndex(({ label }) => label === answer);
    this.draws = 0;
    /** How many of the reports fit each candidate. */
    this.hits = candidates.map(() => 0);
    this.ratio = Number(law.ratio[0]) / Number(law.ratio[1]);
  }

  /** Draw a report as the client does, and note its dice. @param {(drawn: Uint8Array[], limits: bigint[]) => bigint[]} wordsOf @returns {Promise<Draw>} */
  async draw(wordsOf) {
    /** @type {Uint8Array[]} */
    const drawn = [];
    const report = await this.question.privatize(this.answer, (length) => {
      const bytes = new Uint8Array(length);
      for (let i = 0; i < length; i += 65536) crypto.getRandomValues(bytes.subarray(i, i + 65536));
      drawn.push(bytes);
      return bytes;
    });
    const reading = this.law.read(report);
    const fits = this.candidates.map(({ value }) => reading.fits(value));
    fits.forEach((fit, i) => (this.hits[i] += Number(fit)));
    this.draws += 1;
    const words = wordsOf(drawn, this.law.limits);
    const redrawn = drawn.reduce((sum, bytes) => sum + bytes.length / 8, 0) - words.length;
    return { report, reading, words, redrawn, fits };
  }

  /**
   * What an observer believes of each candidate, who believed `prior` of the answer given and the
   * same of all others, after reports of which so many fit each candidate.
   * @param {number} prior @param {number[]} hits
   */
  beliefs(prior, hits) {
    const rest = (1 - prior) / (this.candidates.length - 1);
    // From the most hits down, so that no power is too large for a number.
    const most = hits.reduce((a, b) => Math.max(a, b), 0);
    const weights = this.candidates.map((_, i) => (i === this.own ? prior : rest) * this.ratio ** (hits[i] - most));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  }
}

/** The page: writes each part of a draw into its place. */
class Page {
  /** @param {typeof import("./laws.js")} laws */
  constructor(laws) {
    this.laws = laws;
  }

  /** Write a phrase. @param {Phrase} phrase @param {Trial} trial */
  say(phrase, trial) {
    return phrase.map((part) => {
      if (typeof part === "string") return part;
      return quoted(part.answer === null ? trial.answer : trial.candidates[part.answer].label);
    });
  }

  /** @param {Trial} trial @param {Draw} draw */
  show(trial, draw) {
    this.showDice(trial, draw);
    this.showBytes(trial, draw);
    this.showLikelihoods(trial, draw);
    this.showOdds(trial, draw);
    this.showAgain(trial);
    find("life").hidden = false;
    document.getElementById("sending")?.removeAttribute("hidden");
    const fitting = draw.fits.filter(Boolean).length;
    const own = draw.fits[trial.own] ? "yours among them" : "yours not among them";
    const said = `Report ${count(trial.draws)} drawn: it fits ${count(fitting)} of ${answers(draw.fits.length)}, ${own}. Nothing was sent.`;
    find("status").textContent = said;
  }

  /** @param {Trial} trial @param {Draw} draw */
  showDice(trial, { words, redrawn }) {
    find("given").replaceChildren("The answer is ", quoted(trial.answer), ". It stays in this page.");
    const value = trial.candidates[trial.own].value;
    const places = [...words.keys()].slice(0, SOME);
    if (words.length > SOME && value >= SOME) places.push(Number(value));
    const rows = places.map((place) => {
      const { word, decided } = trial.law.step(words, value, place);
      const share = precise(Number(word) / 2 ** 64, 4);
      const shown = [make("code", {}, word.toString(16).padStart(16, "0")), make("small", {}, `${share} of 2⁶⁴`)];
      return make("tr", {}, make("th", { scope: "row" }, ...shown), make("td", {}, ...this.say(decided, trial)));
    });
    find("dice").replaceChildren(...rows);
    const left = words.length - places.length;
    const more = left ? `And ${count(left)} more words, one for each other answer.` : "";
    const again = redrawn ? `${count(redrawn)} ${redrawn > 1 ? "words were" : "word was"} drawn again, being beyond the last share.` : "";
    find("more-dice").textContent = [more, again].filter(Boolean).join(" ");
  }

  /** @param {Trial} trial @param {Draw} draw */
  showBytes(trial, { report, reading, fits }) {
    find("bytes").textContent = hex(report);
    find("size").textContent = `${count(report.length)} ${report.length === 1 ? "byte" : "bytes"}, in hexadecimal:`;
    find("means").replaceChildren(...this.say(reading.means, trial));
    const fitting = trial.candidates.filter((_, i) => fits[i]);
    const some = fitting.slice(0, RADIOS).flatMap(({ label }, i) => [i ? ", " : "", quoted(label)]);
    const more = fitting.length > RADIOS ? [` and ${count(fitting.length - RADIOS)} more`] : [];
    const which = fitting.length ? [": ", ...some, ...more] : [];
    find("fits").replaceChildren(`It fits ${count(fitting.length)} of ${answers(fits.length)}`, ...which, ".");
  }

  /** @param {Trial} trial @param {Draw} draw */
  showLikelihoods(trial, { reading, fits }) {
    const { logarithm, exactly } = this.laws;
    const logs = [logarithm(reading.other), logarithm(reading.fitting)];
    const order = [...fits.keys()].sort((a, b) => Number(fits[b]) - Number(fits[a]) || a - b);
    const shown = order.length <= ALL ? order : order.filter((i, place) => place < SOME || i === trial.own);
    /** @param {(string | Node)[]} head @param {boolean} fit @param {boolean} own */
    const row = (head, fit, own) => {
      const compared = `${fit ? precise(trial.ratio) : 1} ×`;
      return make(
        "tr", own ? { class: "own" } : {},
        make("th", { scope: "row" }, ...head),
        make("td", { class: "number" }, ...small(logs[Number(fit)])),
        make("td", { class: "number" }, compared),
        make("td", { "aria-hidden": "true" }, bar(fit ? 1 : 1 / trial.ratio, own)),
      );
    };
    const rows = shown.map((i) => {
      const mine = i === trial.own;
      return row([...listed(trial.candidates[i].label), ...(mine ? [make("small", {}, "your answer")] : [])], fits[i], mine);
    });
    for (const fit of [true, false]) {
      const left = order.length - shown.length && order.filter((i) => fits[i] === fit).length - shown.filter((i) => fits[i] === fit).length;
      if (left) rows.push(row([`each of ${count(left)} other answers that it ${fit ? "fits" : "does not fit"}`], fit, false));
    }
    find("likelihoods").replaceChildren(...rows);
    find("exact-fitting").textContent = exactly(reading.fitting);
    find("exact-other").textContent = exactly(reading.other);
  }

  /** @param {Trial} trial @param {Draw} draw */
  showOdds(trial, { fits }) {
    const alone = trial.candidates.length < 2;
    find("odds").hidden = alone;
    find("alone").hidden = !alone;
    if (alone) return;
    const input = /** @type {HTMLInputElement} */ (find("prior"));
    input.placeholder = precise(100 / trial.candidates.length, 4);
    const prior = input.value === "" ? 1 / trial.candidates.length : Number(input.value) / 100;
    const sound = prior > 0 && prior < 1;
    input.setAttribute("aria-invalid", String(!sound));
    if (!sound) {
      find("conclusion").textContent = "Write a number above 0 and below 100.";
      find("beliefs").replaceChildren();
      return;
    }
    const after = trial.beliefs(prior, fits.map(Number));
    const rest = (1 - prior) / (trial.candidates.length - 1);
    const rows = [row([quoted(trial.answer), make("small", {}, "your answer")], prior, after[trial.own])];
    for (const fit of [true, false]) {
      const others = [...fits.keys()].filter((i) => i !== trial.own && fits[i] === fit);
      const head = `${others.length === 1 ? "the other answer" : `each of ${count(others.length)} other answers`} that it ${fit ? "fits" : "does not fit"}`;
      if (others.length) rows.push(row([head], rest, after[others[0]]));
    }
    find("beliefs").replaceChildren(...rows);
    const own = after[trial.own];
    const factor = own / (1 - own) / (prior / (1 - prior));
    const moved = Math.abs(factor - 1) < 1e-9 ? "unchanged" : factor > 1 ? `multiplied by ${precise(factor)}` : `divided by ${precise(1 / factor)}`;
    find("conclusion").replaceChildren(
      "The odds of ", quoted(trial.answer), ` against all other answers were ${odds(prior)} and are now ${odds(own)}: ${moved}. `,
      `The odds between two answers move by a factor of ${precise(trial.ratio, 7)} where the report fits only one of them, and not at all otherwise. `,
      `The bound is e^ε = ${root.dataset.bound}, whatever an observer believed before.`,
    );

    /** @param {(string | Node)[]} head @param {number} before @param {number} now */
    function row(head, before, now) {
      const cells = [percent(before), percent(now)].map((text) => make("td", { class: "number" }, text));
      return make("tr", {}, make("th", { scope: "row" }, ...head), ...cells);
    }
  }

  /** @param {Trial} trial */
  showAgain(trial) {
    const place = find("together");
    if (trial.draws < 2 || trial.candidates.length < 2) {
      place.textContent = "";
      return;
    }
    const after = trial.beliefs(1 / trial.candidates.length, trial.hits);
    place.replaceChildren(
      `You have drawn ${count(trial.draws)} reports of `, quoted(trial.answer),
      `. Had all of them been sent, an observer who held all ${answers(trial.candidates.length)} for equally likely would now believe in this one with ${percent(after[trial.own])}.`,
    );
  }
}

/** Let a person send one report, by the client, which draws once and keeps what it drew. @param {typeof import("../../../../../clients/js/src/index.ts")} client @param {string} text @param {string} digest @param {() => Trial | undefined} current */
const offer = async (client, text, digest, current) => {
  const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("send"));
  if (!button) return;
  const said = find("sent");
  try {
    const question = await client.parse(text, digest);
    const connection = client.connect(location.origin, {
      inspect: ({ id, report }) => (find("left").textContent = `What left: the id ${hex(id)} and the report ${hex(report)}.`),
    });
    button.addEventListener("click", async () => {
      const trial = current();
      if (!trial) return;
      button.disabled = true;
      try {
        said.textContent = OUTCOMES[await connection.answer(question, trial.answer, true)];
      } catch (error) {
        said.textContent = `Nothing was sent: ${error}`;
      }
      button.disabled = false;
    });
  } catch (error) {
    button.disabled = true;
    said.textContent = `This browser's client would not answer the question, so nothing can be sent: ${error}`;
  }
};

/** The value of a text in an open question: the first eight bytes of its SHA-256. @param {string} label @returns {Promise<Candidate>} */
const fingerprint = async (label) => {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(label));
  return { label, value: new DataView(hash).getBigUint64(0, true) };
};

/** The answers to compare, the one given among them. @param {string[] | null} labels @param {string} answer */
const candidatesOf = (labels, answer) => {
  if (labels) return labels.map((label, i) => ({ label, value: BigInt(i) }));
  const more = /** @type {HTMLTextAreaElement} */ (find("others")).value.split("\n").filter((line) => line.trim());
  return Promise.all([...new Set([answer, ...more.slice(0, 1000)])].map(fingerprint));
};

const start = async () => {
  const { client: address = "", digest = "", laws: lawsAddress = "" } = root.dataset;
  const [client, laws, text] = await Promise.all([
    import(address),
    import(lawsAddress),
    fetch(`/v1/questions/${digest}`, { credentials: "omit" }).then((reply) => reply.text()),
  ]);
  /** @type {Question} */
  const question = await client.parse(text, digest, { ceiling: CEILING });
  const { protocol, other } = JSON.parse(text);
  const law = laws.lawOf(protocol);
  const choice = new Choice(question, other);
  const page = new Page(laws);
  /** @type {Trial | undefined} */
  let trial;
  /** @type {Draw | undefined} */
  let last;

  const draw = async () => {
    if (!trial) return;
    last = await trial.draw(laws.wordsOf);
    page.show(trial, last);
  };
  const form = /** @type {HTMLFormElement} */ (find("answering"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = choice.read(form);
    find("wrong").textContent = answer === null ? "Expected one of the answers that the question has; type its beginning and choose one." : "";
    if (answer === null) return;
    trial = new Trial(question, law, await candidatesOf(question.labels, answer), answer);
    await draw();
    find("first").focus();
  });
  find("again").addEventListener("click", draw);
  find("prior").addEventListener("input", () => trial && last && page.showOdds(trial, last));
  await offer(client, text, digest, () => trial);
  root.hidden = false;
};

start().catch((error) => {
  const place = find("failed");
  place.hidden = false;
  place.textContent = isSecureContext
    ? `The question cannot be tried in this browser: ${error}`
    : "Trying needs a secure context: open this page by https, or on the machine where the collector runs.";
});

export {};
