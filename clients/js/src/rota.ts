/**
 * The rota: people are asked again, each in one round out of many.
 *
 * A browser has a phase, which it draws once from a secret of its own. Its turn c is round
 * c * rounds + phase, and there are no others. It takes a turn only if it is later than the last one
 * that it took, so that a clock that is set back never makes it answer twice.
 */
import { expect } from "./errors.ts";
import { whole } from "./mechanism.ts";
import type { Outcome } from "./memory.ts";
import { WORD, words } from "./words.ts";

/** Rounds of `every` days from `start` on, in one of `rounds` of which each person is asked, `times` times over. */
export interface Repeat {
  every: number;
  rounds: number;
  start: string;
  times: number;
}

/** The day of a date, as YYYY-MM-DD; undefined if the date is invalid. */
export const dayOf = (date: Date): string | undefined => date.toJSON()?.slice(0, 10);
export const isDay = (text?: string): boolean => dayOf(new Date(text!)) === text;
/** The number of a day, counted from 1970. */
const count = (day: string): number => +new Date(day) / 864e5;

/** Check what a document says of its rounds. The last day has to be one that all clients can name. */
export const readRepeat = ({ every, rounds, start, times }: Repeat): Repeat => {
  whole(every, 92), whole(rounds, 521), whole(times, 101);
  expect(rounds > 1 && isDay(start) && count(start) >= 0 && count(start) + every * rounds * times <= 2932896);
  return { every, rounds, start, times };
};

/** How a browser stands on a day after it took the turn `last`, or -1: the turn that it may take, or why it has none. */
export const stands = (
  { every, rounds, start, times }: Repeat,
  phase: number,
  last: number,
  today: string,
): number | Outcome => {
  const now = Math.floor((count(today) - count(start)) / every);
  const turn = Math.max(last + 1, Math.ceil((now - phase) / rounds));
  if (turn < times && now === turn * rounds + phase) return turn;
  if (last >= 0 && now === last * rounds + phase) return "already";
  return turn < times ? "not-now" : "finished";
};

/** Draw one of `size` numbers, for ever the same, that only the secret can foretell: a phase (2), or an arm (3). */
export const drawn = async (
  secret: number[],
  digest: string,
  purpose: number,
  size: number,
  { subtle }: Crypto,
): Promise<number> => {
  const key = await subtle.importKey("raw", new Uint8Array(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const message = new Uint8Array([...digest.match(/../g)!.map((hex) => +`0x${hex}`), purpose, 0, 0, 0, 0, 0, 0, 0, 0]);
  const step = WORD / BigInt(size);
  for (;;) {
    const word = words(new Uint8Array(await subtle.sign("HMAC", key, message)))[0]!;
    if (word < step * BigInt(size)) return Number(word / step);
    message[33]!++;
  }
};
