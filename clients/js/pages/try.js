/**
 * The page on which a person answers and follows a report. It draws reports as the client does. If
 * the question is set to collect here, a separate button sends the first that was shown.
 *
 * The client is not part of this script: the page imports the very file that other sites load.
 */

/**
 * @typedef {import("./life.js").Candidate} Candidate
 * @typedef {import("./life.js").Draw} Draw
 * @typedef {import("./life.js").Question} Question
 * @typedef {{ answer: any, report: Uint8Array }} Shown
 */

import { sha256 } from "../src/digest.ts";
import { words } from "../src/words.ts";
import { lawOf } from "./laws.js";
import { showFirst, showTold } from "./first.js";
import { kindOf } from "./kinds.js";
import { noted, showLife, showOdds, Trial } from "./life.js";
import { brief, compared, fill, find, hex, make } from "./shown.js";

const root = find("try");
const { digest = "" } = root.dataset;

/** Up to this many answers are chips, up to this many a list; more are found by typing. */
const CHIPS = 24;
const LISTED = 200;
const SUGGESTED = 20;
/** The page is about one question, so it may take its time to read it. */
const LONGEST = 1 << 24;

/** The sentences of this page, in the language of the person. @type {Record<string, string>} */
const said = JSON.parse(root.dataset["words"] ?? "{}");

/** One chip for each answer, which draws at once. @param {string[]} labels @param {(label: string) => void} choose */
const chips = (labels, choose) =>
  labels.map((label) => {
    const chip = make("button", { type: "button", "aria-pressed": "false" }, make("bdi", {}, brief(label)));
    chip.addEventListener("click", () => {
      for (const other of find("choices").querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
      chip.setAttribute("aria-pressed", "true");
      choose(label);
    });
    return chip;
  });

/** A list to choose from. @param {string[]} labels */
const list = (labels) => {
  const options = labels.map((label, i) => make("option", { value: String(i) }, brief(label)));
  return make("select", { name: "answer", "aria-label": said["your_answer"] ?? "" }, ...options);
};

/** A field to type into, which suggests answers if there is a list. @param {string[] | null} labels */
const field = (labels) => {
  const attributes = { type: "text", name: "answer", autocomplete: "off", required: "" };
  const described = { "aria-label": said["your_answer"] ?? "", "aria-describedby": "wrong" };
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

/**
 * Add chips, a list or a field to the form; chips need no further button.
 * @param {string[] | null} labels @param {(label: string) => void} choose
 */
const offerAnswers = (labels, choose) => {
  const few = labels && labels.length <= CHIPS && chips(labels, choose);
  const some = labels && labels.length <= LISTED && [list(labels)];
  find("choices").append(...(few || some || field(labels)));
  find("choices").classList.toggle("chips", !!few);
  find("ask").hidden = !!few;
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
  return Promise.all([...new Set([answer, ...compared()])].map(fingerprint));
};

/**
 * Let a person send the report that was shown first; the client keeps it, and never draws another.
 * @param {typeof import("../src/index.ts")} client
 * @param {string} text @param {() => Shown | undefined} shown
 */
const offerSending = async (client, text, shown) => {
  const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("send"));
  if (!button) return;
  const { connect, parse } = client;
  const say = (/** @type {string} */ state) => {
    find("sent").textContent = said[`state_${state}`] ?? state;
    document.getElementById("afterwards")?.toggleAttribute("hidden", !["answered", "already"].includes(state));
  };
  const question = await parse(text, digest, { longest: LONGEST }).catch(() => undefined);
  if (!question) {
    say("failed");
    button.disabled = true;
    return;
  }
  const connection = connect(location.origin, {
    inspect({ id, report }) {
      const grouped = Number(root.dataset["grouped"]);
      const parts = [id, ...(grouped ? [report.slice(0, 1)] : []), report.slice(grouped)];
      find("left").textContent = `${said[grouped ? "left_group" : "left"] ?? ""} ${parts.map(hex).join(" · ")}`;
    },
  });
  // What an earlier visit could not deliver goes out now.
  const earlier = await connection.resume(digest);
  if (earlier) {
    find("sending").hidden = false;
    say(earlier);
    // It was asked once, and is over.
    button.disabled = !question.repeat && earlier === "already";
  }
  button.addEventListener("click", async () => {
    const first = shown();
    if (!first) return;
    button.disabled = true;
    find("sent").textContent = "";
    const outcome = await connection.answer({ ...question, privatize: async () => first.report }, first.answer, true);
    button.disabled = false;
    say(outcome);
  });
};

/**
 * Wire the page up for a kind of answers with fields of its own; return the report that would be sent.
 * @param {import("./kinds.js").Kind} kind @param {Question} question
 */
const startKind = (kind, question) => {
  const form = /** @type {HTMLFormElement} */ (find("answering"));
  /** @type {Shown | undefined} */
  let first;
  /** @type {any} */
  let answer;
  let draws = 0;
  /** @type {() => void} */
  let weigh = () => {};
  /** Show the mathematics of a report. @param {Uint8Array} report @param {Uint8Array[]} drawn */
  const follow = (report, drawn) => {
    const found = kind.follow(answer, report, drawn);
    const trial = new Trial(question, found.law, found.candidates, found.answer);
    const draw = trial.take(report, found.drawn, found.others);
    showLife(trial, draw, found.given);
    weigh = () => showOdds(trial, draw);
  };
  const drawOnce = async () => {
    find("wrong").textContent = "";
    try {
      const [drawn, source] = noted();
      const report = await question.privatize(answer, source);
      draws += 1;
      first ??= { answer, report };
      showTold(kind.write(answer), kind.tell(answer, report), report, draws, said);
      follow(report, drawn);
      document.getElementById("sending")?.removeAttribute("hidden");
    } catch {
      find("wrong").textContent = said["write_first"] ?? "";
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answer = kind.read(form);
    [first, draws] = [undefined, 0];
    drawOnce();
  });
  find("again").addEventListener("click", drawOnce);
  find("prior").addEventListener("input", () => weigh());
  find("choices").append(...kind.fields);
  find("choices").classList.add("fields");
  kind.prepare?.(form);
  return () => first;
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
  const kind = kindOf(JSON.parse(text), said);
  if (kind) {
    await offerSending(client, text, startKind(kind, question));
    root.hidden = false;
    return;
  }
  const { other, protocol } = JSON.parse(text);
  const { labels } = question;
  const law = lawOf(protocol);
  /** @type {Trial | undefined} */
  let trial;
  /** @type {Draw | undefined} */
  let draw;
  /** The first report of each answer: the one that would be sent. @type {Map<string, Uint8Array>} */
  const firsts = new Map();

  const drawOnce = async () => {
    if (!trial) return;
    draw = await trial.draw();
    if (!firsts.has(trial.answer)) firsts.set(trial.answer, draw.report);
    showFirst(trial, draw, said, labels ? "" : fill(said["sent_piece"], { count: protocol.g }));
    showLife(trial, draw);
    document.getElementById("sending")?.removeAttribute("hidden");
  };
  /** @param {string} answer */
  const choose = async (answer) => {
    find("wrong").textContent = "";
    try {
      trial = new Trial(question, law, await candidatesOf(labels, answer), answer);
      firsts.delete(answer);
      await drawOnce();
    } catch (error) {
      find("wrong").textContent = String(error);
    }
  };
  const form = /** @type {HTMLFormElement} */ (find("answering"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = readAnswer(form, labels, other);
    if (answer === null) find("wrong").textContent = said[labels ? "not_listed" : "write_first"] ?? "";
    else choose(answer);
  });
  find("again").addEventListener("click", drawOnce);
  find("prior").addEventListener("input", () => trial && draw && showOdds(trial, draw));
  offerAnswers(labels, choose);
  await offerSending(client, text, () => {
    const report = trial && firsts.get(trial.answer);
    return report && trial && { answer: trial.answer, report };
  });
  root.hidden = false;
};

start().catch((error) => {
  find("failed").hidden = false;
  find("failed").textContent = fill(said[isSecureContext ? "cannot" : "insecure"], { error });
});
