/**
 * What a browser remembers, so that no question is answered twice and no budget is overspent.
 *
 * Everything is one JSON object under one key of `localStorage`, which may throw when touched, be
 * full, or be forgotten at once: then there is no lasting storage, and only an explicit act of a
 * person is remembered, by the page alone.
 */

/** How an answer stands. */
export type Outcome =
  /** The collector has it. */
  | "answered"
  /** It is kept here and will be sent again. */
  | "waiting"
  /** The collector will not count it; nothing more is sent. */
  | "refused"
  /** Nothing more is sent, and whether the collector counted it is not known. */
  | "maybe"
  /** Nothing is sent: the person, or the browser for them, does not want it. */
  | "opted-out"
  /** Nothing is sent: this browser would forget that it was. */
  | "no-storage"
  /** Nothing is sent: the questions so far have used up the budget. */
  | "over-budget";

/** The loss, the outcome and, while it waits: the day, id and report, and if an attempt may have arrived. */
export type Entry = [loss: number, outcome: Outcome, day?: string, body?: number[], unknown?: boolean];

/** Entries by the digests of their questions; `out` is there when the person opted out. */
export type State = Record<string, Entry>;

const KEY = "deniable";
const page: State = {};

/** Change what is remembered and return it; undefined where nothing lasts and `explicit` is not set. */
export const remember = (
  platform: { localStorage: Storage },
  digest: string,
  explicit = false,
  change: (state: State) => unknown = () => {},
): State | undefined => {
  if (!page[digest]) {
    try {
      const storage = platform.localStorage;
      const state = JSON.parse(storage.getItem(KEY) ?? "{}") as State;
      change(state);
      const text = JSON.stringify(state);
      storage.setItem(KEY, text);
      if (storage.getItem(KEY) === text) return state;
    } catch {
      // Blocked, full, or not ours to read: nothing that was changed here lasts.
    }
    if (!explicit) return;
  }
  change(page);
  return page;
};
