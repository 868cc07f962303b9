/**
 * The page on which a person answers and follows a report. It draws reports as the client does and
 * sends none of them. If the question is set to collect here, a separate button does.
 *
 * The client is not part of this script: the page imports the very file that other sites load.
 */

/**
 * @typedef {import("./life.js").Candidate} Candidate
 * @typedef {import("./life.js").Draw} Draw
 * @typedef {import("./life.js").Question} Question
 */

import { sha256 } from "../src/digest.ts";
import { words } from "../src/words.ts";
import { lawOf } from "./laws.js";
import { showLife, showOdds, Trial } from "./life.js";
import { brief, find, hex, make } from "./shown.js";

const root = find("try");
const { digest = "" } = root.dataset;

/** Up to this many answers are buttons, up to this many a list; more are found by typing. */
const BUTTONS = 12;
const LISTED = 200;
const SUGGESTED = 20;
/** The page is about one question, so it may take its time to read it. */
const LONGEST = 1 << 24;
/** Number of other answers to an open question that are compared. */
const COMPARED = 1000;

const OUTCOMES = {
  answered: "The collector has your report. Answering again changes nothing.",
  already: "The collector already has your report. Nothing more was sent.",
  waiting: "The collector has not replied yet. The report is kept, and the same bytes will be sent again.",
  refused: "The collector refused the report. Nothing more is sent.",
  maybe: "It is not known whether the collector counted the report. Nothing more is sent.",
  "opted-out": "Nothing was sent: this browser is set not to take part (opt-out or Global Privacy Control).",
  "no-storage": "Nothing was sent: this browser keeps no data for this site.",
  "over-budget": "Nothing was sent: earlier answers to this site have used up the privacy budget.",
  "not-now": "Nothing was sent: it is not the round of this browser.",
  finished: "Nothing was sent: this browser has no turn left.",
};

/** One button for each answer. @param {string[]} labels */
const buttons = (labels) =>
  labels.map((label, i) => {
    const input = make("input", { type: "radio", name: "answer", value: String(i), required: "" });
    return make("label", { class: "choice" }, input, make("bdi", {}, brief(label)));
  });

/** A list to choose from. @param {string[]} labels */
const list = (labels) => {
  const options = labels.map((label, i) => make("option", { value: String(i) }, brief(label)));
  return make("select", { name: "answer", "aria-label": "Your answer" }, ...options);
};

/** A field to type into, which suggests answers if there is a list. @param {string[] | null} labels */
const field = (labels) => {
  const attributes = { type: "text", name: "answer", autocomplete: "off", required: "" };
  const described = { "aria-label": "Your answer", "aria-describedby": "wrong" };
  const input = /** @type {HTMLInputElement} */ (make("input", { ...attributes, ...described }));
  if (!labels) return [input];
  const known = make("datalist", { id: "known" });
  input.setAttribute("list", "known");
  input.addEventListener("input", () => {
    const typed = input.value.toLowerCase();
    const near = [];
    for (const label of labels) {
      if (label.toLowerCase().startsWith(typed) && near.push(label) === SUGGESTED) break;
    }
    known.replaceChildren(...near.map((label) => make("option", { value: label })));
  });
  return [input, known];
};

/** Add the buttons, list or field to the form. @param {string[] | null} labels */
const offerAnswers = (labels) => {
  const few = labels && labels.length <= BUTTONS && buttons(labels);
  const some = labels && labels.length <= LISTED && [list(labels)];
  find("choices").append(...(few || some || field(labels)));
};

/**
 * Return the answer that was given; null if it is not an answer of the question.
 * @param {HTMLFormElement} form @param {string[] | null} labels @param {string | null} other
 */
const readAnswer = (form, labels, other) => {
  const given = String(new FormData(form).get("answer") ?? "");
  // Phone keyboards add a space after a word.
  if (!labels) return given.trim() || null;
  if (labels.length <= LISTED) return labels[Number(given)] ?? null;
  return [given, given.trim()].find((text) => labels.includes(text)) ?? other;
};

/** The value of any text: the first eight bytes of its SHA-256. @param {string} label */
const fingerprint = async (label) => ({ label, value: /** @type {bigint} */ (words(await sha256(label, crypto))[0]) });

/**
 * The answers to compare, the one given among them.
 * @param {string[] | null} labels @param {string} answer @returns {Promise<Candidate[]>}
 */
const candidatesOf = async (labels, answer) => {
  if (labels) return labels.map((label, i) => ({ label, value: BigInt(i) }));
  const { value } = /** @type {HTMLTextAreaElement} */ (find("others"));
  const more = value.split("\n").map((line) => line.trim()).filter(Boolean);
  return Promise.all([...new Set([answer, ...more.slice(0, COMPARED)])].map(fingerprint));
};

/**
 * Let a person send a report by the client, which draws once and keeps what it drew.
 * @param {typeof import("../src/index.ts")} client
 * @param {string} text @param {() => string} answer
 */
const offerSending = async (client, text, answer) => {
  const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("send"));
  if (!button) return;
  const say = (/** @type {string} */ said) => (find("sent").textContent = said);
  const { connect, parse } = client;
  const question = await parse(text, digest, { longest: LONGEST }).catch((error) => say(`Nothing can be sent: ${error}`));
  button.disabled = typeof question === "string";
  const connection = connect(location.origin, {
    inspect({ id, report }) {
      find("left").textContent = `What left: the id ${hex(id)} and the report ${hex(report)}.`;
    },
  });
  // What an earlier visit could not deliver goes out now.
  const earlier = await connection.resume(digest);
  if (earlier) {
    find("sending").hidden = false;
    say(OUTCOMES[earlier]);
  }
  button.addEventListener("click", async () => {
    if (typeof question === "string") return;
    button.disabled = true;
    say("");
    const outcome = await connection.answer(question, answer(), true);
    button.disabled = false;
    say(OUTCOMES[outcome]);
  });
};

/** Load everything, and wire the page up. */
const start = async () => {
  const [client, reply] = await Promise.all([
    import(root.dataset.client ?? ""),
    fetch(`/v1/questions/${digest}`, { credentials: "omit" }),
  ]);
  const text = await reply.text();
  /** @type {Question} */
  const question = await client.parse(text, digest, { longest: LONGEST });
  const { other, protocol } = JSON.parse(text);
  const { labels } = question;
  const law = lawOf(protocol);
  /** @type {Trial | undefined} */
  let trial;
  /** @type {Draw | undefined} */
  let draw;

  const drawOnce = async () => {
    if (!trial) return;
    draw = await trial.draw();
    showLife(trial, draw);
    document.getElementById("sending")?.removeAttribute("hidden");
  };
  const form = /** @type {HTMLFormElement} */ (find("answering"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    find("wrong").textContent = "";
    const answer = readAnswer(form, labels, other);
    if (answer === null) {
      find("wrong").textContent = labels
        ? "This is not one of the answers. Type the beginning of one, and choose it."
        : "Write an answer first.";
      return;
    }
    try {
      trial = new Trial(question, law, await candidatesOf(labels, answer), answer);
      await drawOnce();
      find("first").focus();
    } catch (error) {
      find("wrong").textContent = String(error);
    }
  });
  find("again").addEventListener("click", drawOnce);
  find("prior").addEventListener("input", () => trial && draw && showOdds(trial, draw));
  offerAnswers(labels);
  await offerSending(client, text, () => trial?.answer ?? "");
  root.hidden = false;
};

start().catch((error) => {
  find("failed").hidden = false;
  find("failed").textContent = isSecureContext
    ? `The question cannot be tried in this browser: ${error}`
    : "Trying needs a secure context: open this page by https, or where the collector runs.";
});
