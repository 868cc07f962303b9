/** Answer questions deniably, from a browser: the client of a deniable collector. */
import { attach } from "./tag.ts";

export { type Client, connect, type Leaving, type Platform, type Settings } from "./client.ts";
export { DeniableError } from "./errors.ts";
export type { Outcome } from "./memory.ts";
export { parse, type Question } from "./question.ts";
export type { Source } from "./words.ts";

attach();
