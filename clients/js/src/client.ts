/**
 * The client of a collector: it answers a question once, or once in each of its turns, and makes sure
 * that the answer arrives once.
 *
 * The report is drawn once and stored with its id before it is sent. No reply of a server, no reload
 * and no second tab makes the client draw again; a changed answer changes nothing. The table in
 * docs/formats.md says how an attempt ends; every client replays it from vectors/delivery.json.
 */
import { expect } from "./errors.ts";
import { type Entry, isOut, type Outcome, page, remember, type State } from "./memory.ts";
import type { Limits, Parse, Question } from "./question.ts";
import { dayOf, drawn, isDay, stands } from "./rota.ts";
import type { Stated } from "./segments.ts";
import { system } from "./words.ts";

/** What the client needs of a browser; a window has it all. */
export type Platform = Pick<
  typeof globalThis,
  "addEventListener" | "crypto" | "Date" | "fetch" | "localStorage" | "navigator" | "setTimeout"
>;

/** What is about to leave the browser: the address with the day, the random id, the report after its segment. */
export interface Leaving {
  url: string;
  id: Uint8Array;
  report: Uint8Array;
}

/** What a reply may say besides its status: the kind of problem, and the days that are open. */
interface Problem {
  type?: string;
  first?: string;
  last?: string;
}

export interface Settings extends Limits {
  /** The most epsilon that all questions of this site may spend together. */
  budget?: number | undefined;
  /** Called with what leaves, just before it does. */
  inspect?: ((leaving: Leaving) => void) | false;
  platform?: Platform;
}

export interface Options {
  /** A person asked for this very answer to be sent. */
  explicit?: boolean;
  /** The person's segment: a value for each dimension, public as it is. */
  segment?: Stated | undefined;
}

export interface Client<Answer = string> {
  /** Load the question with this digest from the collector, or from another address. */
  load(digest: string, url?: string): Promise<Question<Answer>>;
  /** Answer a question, once or in this browser's turn. A boolean is `explicit`. */
  answer(question: Question<Answer>, answer: Answer, options?: Options | boolean): Promise<Outcome>;
  /** Why this browser has no turn of a question that is asked again; undefined if an answer would be taken. */
  turn(question: Question<Answer>): Promise<Outcome | undefined>;
  /** The arm of an experiment to which this browser belongs, for ever; undefined if it would forget it. */
  arm(digest: string, arms: string[]): Promise<string | undefined>;
  /** Send what an earlier page could not; undefined if this question was never answered. */
  resume(digest: string): Promise<Outcome | undefined>;
  /**
   * Send nothing from now on and delete waiting reports; `optOut(false)` opts in again. Returns
   * whether the browser will remember this when the page is gone.
   */
  optOut(out?: boolean): boolean;
}

const QUIET = { credentials: "omit", referrerPolicy: "no-referrer" } as const;

/** Return how to connect to a collector whose questions are read in this way. */
export const connecting = <Answer>(parse: Parse<Answer>) => (collector: string, settings: Settings = {}): Client<Answer> => {
  const { budget = 10, inspect, platform = globalThis } = settings;
  const { crypto, fetch, navigator } = platform;
  const base = `${collector.replace(/\/$/, "")}/v1/questions/`;
  const retrying: Record<string, unknown> = {};
  expect(budget >= 0, "invalid budget");

  /** Run `work` in one tab at a time, if the browser has locks. */
  const alone = async <T>(work: (locked?: unknown) => Promise<T>): Promise<T> => {
    let running: Promise<T> | undefined;
    // If locks are refused, as in a sandbox, the work has not begun.
    await navigator.locks?.request("deniable", (lock) => (running = work(lock))).catch(() => {});
    return running ?? work();
  };

  /** Wait some seconds, or until the browser is online again; if it is long, only for the latter. */
  const pause = (seconds: number): Promise<unknown> =>
    new Promise((resolve) => {
      // It stays: pauses grow, so that there are few.
      platform.addEventListener("online", resolve);
      if (seconds < 100) platform.setTimeout(resolve, 1e3 * seconds);
    });

  /** Try to send a waiting report; go on in the background if that takes longer. */
  const send = async (digest: string, wait = 1): Promise<Outcome | undefined> => {
    for (let moves = 0; ; ) {
      const state = remember(platform, digest);
      let [loss, mark, day, body, doubt, since] = state?.[digest] ?? ([] as never as Entry);
      if (!body) return mark === "answered" ? "already" : mark;
      if (isOut(state!, navigator as never)) return "opted-out";
      if (!navigator.onLine) break;
      /** Store the state, unless the person opted out in the meantime. */
      const keep = (end?: Outcome | false, unsure = doubt) =>
        remember(platform, digest, false, (state) => {
          if (state[digest]?.[3]) state[digest] = end ? [loss, end] : [loss, mark, day, body, unsure, since];
        });
      const today = dayOf(new platform.Date())!;
      /** How long ago a day began, in milliseconds. */
      const back = (day: string): number => +new Date(today) - +new Date(day);
      const lost = doubt ? "maybe" : "refused";
      let end: Outcome | undefined;
      day ||= today;
      // After 30 days no collector takes the report.
      if (doubt && back(day) > 2592e6) end = lost;
      else {
        // Until there is a reply, this attempt may have arrived.
        if (!keep(false, true)) return "no-storage";
        // Without a reply nobody knows whether it arrived, as with most replies from 500 on.
        let status = "5";
        let problem: Problem = {};
        try {
          const bytes = new Uint8Array(body);
          const url = `${base}${digest}/reports?day=${day}`;
          inspect && inspect({ url, id: bytes.slice(0, 16), report: bytes.slice(16) });
          // Plain bytes have no content type, so there is no preflight.
          const reply = await fetch(url, {
            ...QUIET,
            method: "POST",
            body: bytes,
            // A request that outlives the page must be short.
            keepalive: !body[32768],
            redirect: "manual",
            signal: AbortSignal.timeout?.(3e4),
          });
          problem = (await reply.json().catch(() => {})) ?? problem;
          // A redirect, which is not followed, has no status.
          status = `${reply.status || 300}${problem.type}`;
          wait = Math.max(wait, +reply.headers.get("Retry-After")! || 0);
        } catch {}
        const { first, last } = problem;
        const open = /^422/.test(status) && isDay(first) && isDay(last) && first! <= last!;
        if (/^2/.test(status)) end = "answered";
        else if (/^4(00|09|10)/.test(status) || (open && doubt)) end = lost;
        else if (open && moves++ < 2) {
          // The collector corrects a wrong clock: all attempts so far were certainly refused.
          day = day < first! ? first! : day > last! ? last! : day;
          keep();
          continue;
        } else if (!/^4(08|25|29)|^503.*(queue-full|stopping)/.test(status)) {
          if (/^5/.test(status)) doubt = true;
          else {
            since = since! <= today ? since! : today;
            if (back(since) > 6048e5) end = lost;
          }
        }
      }
      keep(end);
      if (end) return end;
      break;
    }
    retrying[digest] ??= pause(wait * (1 + system(crypto)(1)[0]! / 256)).then(() => {
      delete retrying[digest];
      return alone(() => send(digest, 2 * wait));
    });
    return "waiting";
  };

  /** Enter what is spent under a key, unless it is there; return the state, or why it cannot be. */
  const enter = (key: string, entry: Entry, explicit?: boolean): State | Outcome => {
    let out: Outcome = "no-storage";
    const state = remember(platform, key, explicit, (state) => {
      const spent = Object.values(state).reduce((sum, [loss]) => sum + loss, entry[0]);
      if (isOut(state, navigator as never)) out = "opted-out";
      else if (!(spent <= budget + 1e-9)) out = "over-budget";
      else state[key] ??= entry;
    });
    return state?.[key] ? state : out;
  };

  /** The secret of this browser, which is made when it is first needed; undefined if it would not last. */
  const secret = (): number[] | undefined =>
    remember(platform, "secret", false, (state) => (state.secret ??= [0, [...system(crypto)(32)]]))?.secret![1];

  /** How this browser stands with a question that is asked again. What all turns spend is reserved here. */
  const standing = async ({ digest, loss, repeat }: Question<Answer>): Promise<number | Outcome> => {
    const state = enter(`@${digest}`, [loss, -1] as never);
    if (typeof state === "string") return state;
    const bytes = secret();
    if (!bytes) return "no-storage";
    const phase = await drawn(bytes, digest, 2, repeat!.rounds, crypto);
    return stands(repeat!, phase, state[`@${digest}`]![1], dayOf(new platform.Date())!);
  };

  return {
    async load(digest, url = base + digest) {
      const reply = await fetch(url, QUIET);
      expect(reply.status !== 404, "no such question");
      return parse(await reply.text(), digest, settings);
    },
    async answer(question, answer, options = {}) {
      const { explicit = options as boolean, segment } = options as Options;
      const { cell, digest, loss, privatize, repeat } = question;
      const body = [...system(crypto)(16), ...cell(segment), ...(await privatize(answer))];
      return alone(async (locked) => {
        if (repeat) {
          let turn = await standing(question);
          const state = remember(platform, digest, false, (state) => {
            const taken = state[`@${digest}`];
            if (isOut(state, navigator as never)) turn = "opted-out";
            else if (taken && (turn as number) > taken[1]) {
              taken[1] = turn as number;
              // What still waits of the turn before is given up.
              state[digest] = [0, "waiting", "", body];
            }
          });
          if (!state) return typeof turn === "string" ? turn : "no-storage";
          if (typeof turn === "string" && turn !== "already" && !state[digest]?.[3]) return turn;
        } else {
          const state = enter(digest, [loss, "waiting", "", body], explicit === true);
          if (typeof state === "string") return state;
        }
        // Without locks another tab may do the same: the last to write wins, and both send that.
        if (!locked) await pause(0.3);
        return (await send(digest))!;
      });
    },
    turn: (question) =>
      alone(async () => {
        const turn = question.repeat ? await standing(question) : 0;
        return typeof turn === "string" ? turn : undefined;
      }),
    arm: (digest, arms) =>
      alone(async () => {
        const bytes = secret();
        return bytes && arms[await drawn(bytes, digest, 3, arms.length, crypto)];
      }),
    resume: (digest) => alone(() => send(digest)),
    optOut(out = true) {
      delete page["out"];
      const state = remember(platform, "", true, (state) => {
        for (const entry of Object.values(state)) if (out && entry[3]) entry.splice(1, 5, "opted-out");
        delete state["out"];
        if (out) state["out"] = [0, "opted-out"];
      });
      return state !== page;
    },
  };
};
