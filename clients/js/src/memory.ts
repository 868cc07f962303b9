/**
 * What a browser remembers, so that no question is answered twice and no budget is overspent.
 *
 * Everything is one JSON object under one key of `localStorage`. If that is full, or contains something
 * foreign, nothing is sent. If a browser blocks it, only the page remembers an explicit act of a person.
 */

/** What became of an answer. */
export type Outcome =
  /** The collector has it. */
  | "answered"
  /** The collector already had it, and nothing was sent. */
  | "already"
  /** It is kept here and will be sent again. */
  | "waiting"
  /** The collector will not count it; nothing more is sent. */
  | "refused"
  /** Nothing more is sent, and whether the collector counted it is not known. */
  | "maybe"
  /** Nothing is sent: the person, or the browser for them, does not want it. */
  | "opted-out"
  /** Nothing is sent: this browser would forget it. */
  | "no-storage"
  /** Nothing is sent: the questions so far have used up the budget. */
  | "over-budget"
  /** Nothing is sent: it is not this browser's round. */
  | "not-now"
  /** Nothing is sent: this browser has no turn left. */
  | "finished";

/** The loss, the outcome and, while it waits, everything that is sent and known. */
export type Entry = [
  loss: number,
  outcome: Outcome,
  /** The day in the address; none before the first attempt. */
  day?: string | undefined,
  /** The id and the report. */
  body?: number[] | undefined,
  /** Whether an attempt may have arrived. */
  doubt?: boolean | undefined,
  /** The day of the first refusal that may be temporary. */
  since?: string | undefined,
];

/**
 * Entries by the digests of their questions; `out` is there when the person opted out.
 *
 * For a question that is asked again, `@` and its digest has what all turns spend and the last turn that
 * was taken, for ever; `secret` has the bytes that turns and arms are drawn from.
 */
export type State = Record<string, Entry> & Record<`@${string}`, [loss: number, last: number]> & {
  secret?: [loss: 0, bytes: number[]];
};

const KEY = "deniable";
/** What only the page remembers. */
export const page = {} as State;

/** Whether the person opted out, even if that could not be stored, or the browser says so. */
export const isOut = ({ out = page["out"] }: State, navigator: { globalPrivacyControl?: boolean }): unknown =>
  out || navigator.globalPrivacyControl;

/**
 * Change what is remembered and return it; undefined if it would not last.
 *
 * Without a digest, which means opting out, room is made first, and the page remembers in any case.
 */
export const remember = (
  platform: { localStorage: Storage },
  digest: string,
  explicit?: boolean,
  change: (state: State) => unknown = () => {},
): State | undefined => {
  let storage: Storage | undefined;
  try {
    storage = platform.localStorage;
    if (!page[digest]) {
      const state = JSON.parse(storage.getItem(KEY) ?? "{}") as State;
      change(state);
      const text = JSON.stringify(state);
      if (!digest) storage.removeItem(KEY);
      storage.setItem(KEY, text);
      if (storage.getItem(KEY) === text) return state;
    }
  } catch {
    // Blocked, full, or foreign: nothing that was changed here lasts.
  }
  if (!page[digest] && (!explicit || (storage && digest))) return;
  change(page);
  return page;
};
