/**
 * The client of a collector: answers a question once, and sees to it that the answer arrives once.
 *
 * The report is drawn once and kept with its id before it is sent. Nothing that a server answers, no
 * reload and no second tab makes the client draw again; a changed answer changes nothing.
 */
import { type Entry, type Outcome, remember, type State } from "./memory.ts";
import { type Limits, parse, type Question } from "./question.ts";
import { system } from "./words.ts";

/** What the client needs of a browser; a window has it all. */
export type Platform = Pick<
  typeof globalThis,
  "addEventListener" | "crypto" | "Date" | "fetch" | "localStorage" | "navigator" | "setTimeout"
>;

/** What is about to leave the browser: the address with the day, the random id, the report. */
export interface Leaving {
  url: string;
  id: Uint8Array;
  report: Uint8Array;
}

/** The days that a collector names when it refuses one. */
interface Window {
  first?: string;
  last?: string;
}

type Reply = [status: number, after: number, open?: string | undefined];

export interface Settings extends Limits {
  /** The most epsilon that all questions of this site may spend together. */
  budget?: number;
  /** Shown what leaves, just before it does. */
  inspect?: ((leaving: Leaving) => void) | false;
  platform?: Platform;
}

export interface Client {
  /** Get the question with this digest from the collector, or from another address. */
  load(digest: string, url?: string): Promise<Question>;
  /** Answer a question, once. `explicit`: a person asked for this very answer to be sent. */
  answer(question: Question, answer: string, explicit?: boolean): Promise<Outcome>;
  /** Send what an earlier page had to keep; undefined if this question was never answered. */
  resume(digest: string): Promise<Outcome | undefined>;
  /** Send nothing from now on and forget the reports that wait; `optOut(false)` takes it back. */
  optOut(out?: boolean): void;
}

/** The epsilon that all questions of a site may spend together, unless told otherwise. */
export const BUDGET = 10;

/** The milliseconds after which no collector takes reports of a day, and need not be asked. */
const MONTH = 30 * 864e5;
/** Seconds that a page does not wait: the next one tries again. */
const LONG = 100;
const QUIET = { credentials: "omit", referrerPolicy: "no-referrer" } as const;

export const connect = (collector: string, settings: Settings = {}): Client => {
  const { budget = BUDGET, inspect, platform = globalThis } = settings;
  const { crypto, fetch, navigator } = platform;
  const base = `${collector.replace(/\/$/, "")}/v1/questions/`;
  const retrying = new Set<string>();

  const isOut = (state: State): boolean =>
    !!state["out"] || !!(navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl;

  /** Do something in one tab at a time where the browser has locks. */
  const alone = async <T>(work: (locked?: unknown) => Promise<T>): Promise<T> => {
    let running: Promise<T> | undefined;
    // Where locks are refused, as in a sandbox, the work has not begun.
    await navigator.locks?.request("deniable", (lock) => (running = work(lock))).catch(() => {});
    return running ?? work();
  };

  /** Wait for some seconds or until the browser is online again; if it is long, only for the latter. */
  const pause = (seconds: number): Promise<unknown> =>
    new Promise((resolve) => {
      platform.addEventListener?.("online", resolve, { once: true });
      if (seconds < LONG) platform.setTimeout(resolve, 1e3 * seconds);
    });

  /** Post the id and the report; return the status or 0, the seconds to wait, and a day that is open. */
  const post = async (url: string, bytes: Uint8Array<ArrayBuffer>, today: string): Promise<Reply> => {
    try {
      inspect && inspect({ url, id: bytes.subarray(0, 16), report: bytes.subarray(16) });
      // Plain bytes have no content type, so there is no preflight.
      const reply = await fetch(url, {
        ...QUIET,
        method: "POST",
        body: bytes,
        keepalive: bytes.length < 32768,
        signal: AbortSignal.timeout?.(3e4),
      });
      const { first = "", last }: Window = reply.status === 422 ? await reply.json() : {};
      const open = (today < first ? first : last)?.slice(0, 10);
      return [reply.status, +reply.headers.get("Retry-After")! || 0, open];
    } catch {
      return [0, 0];
    }
  };

  /** Make one attempt to send what waits; go on in the background if it has to wait longer. */
  const send = async (digest: string, wait = 1): Promise<Outcome | undefined> => {
    const state = remember(platform, digest);
    const entry = state?.[digest];
    if (!entry?.[3]) return entry?.[1];
    if (isOut(state!)) return "opted-out";
    const [loss, outcome, day, body, unknown] = entry;
    /** Remember another entry, unless the person opted out in the meantime. */
    const keep = (...entry: Entry) =>
      remember(platform, digest, false, (state) => state[digest]?.[3] && (state[digest] = entry));

    if (navigator.onLine !== false) {
      // The day is that of the first attempt. Until the reply is here, this one may have arrived.
      const today = new platform.Date().toISOString().slice(0, 10);
      const first = day || today;
      if (!keep(loss, outcome, first, body, true)) return "no-storage";
      const late = unknown && Date.parse(today) - Date.parse(first) > MONTH;
      const url = `${base}${digest}/reports?day=${first}`;
      const [status, after, open] = late ? [422, 0] : await post(url, new Uint8Array(body!), today);
      const refused = status >= 400 && status < 500;
      const end =
        (status >= 200 && status < 300) || status === 409
          ? "answered"
          : refused && ![408, 429, unknown || 422].includes(status) && (unknown ? "maybe" : "refused");
      if (end) {
        keep(loss, end);
        return end;
      }
      // A wrong clock is put right by the collector: all attempts so far were refused for certain.
      keep(loss, outcome, open ?? first, body, unknown || !refused);
      wait = Math.max(wait, after);
    }
    if (!retrying.has(digest)) {
      retrying.add(digest);
      void pause(wait * (1 + system(crypto)(1)[0]! / 256)).then(() => {
        retrying.delete(digest);
        return alone(() => send(digest, 2 * wait));
      });
    }
    return outcome;
  };

  return {
    async load(digest, url = base + digest) {
      const reply = await fetch(url, QUIET);
      return parse(await reply.text(), digest, settings);
    },
    async answer({ digest, loss, privatize }, answer, explicit) {
      const body = [...system(crypto)(16), ...(await privatize(answer))];
      return alone(async (locked) => {
        let out: Outcome = "no-storage";
        const state = remember(platform, digest, explicit, (state) => {
          const spent = Object.values(state).reduce((sum, [loss]) => sum + loss, loss);
          if (isOut(state)) out = "opted-out";
          else if (spent > budget + 1e-9) out = "over-budget";
          else state[digest] ??= [loss, "waiting", "", body];
        });
        if (!state?.[digest]) return out;
        // Without locks another tab may be here too: the last to write wins, and both send that.
        if (!locked) await pause(0.3);
        return (await send(digest))!;
      });
    },
    resume: (digest) => alone(() => send(digest)),
    optOut(out = true) {
      remember(platform, "", true, (state) => {
        for (const entry of Object.values(state)) if (out && entry[3]) entry.splice(1, 4, "opted-out");
        delete state["out"];
        if (out) state["out"] = [0, "opted-out"];
      });
    },
  };
};
