/** Answer questions deniably, from a browser: the client of a deniable collector. */
import { scan } from "./tag.ts";

export { type Client, connect, type Leaving, type Platform, type Settings } from "./client.ts";
export { DeniableError } from "./errors.ts";
export type { Outcome } from "./memory.ts";
export { parse, type Question } from "./question.ts";
export type { Source } from "./words.ts";

// Tags and forms may be added later. Outside of a page there are none.
if (globalThis.document) {
  new MutationObserver(scan).observe(document, { childList: true, subtree: true });
  scan();
}
