/** Answer questions deniably, from a browser: the client of a deniable collector. */
import { connecting } from "./client.ts";
import { reading } from "./question.ts";
import { single } from "./single.ts";
import { start } from "./tag.ts";

export type { Client, Leaving, Platform, Settings } from "./client.ts";
export { DeniableError } from "./errors.ts";
export type { Outcome } from "./memory.ts";
export type { Question } from "./question.ts";
export type { Source } from "./words.ts";

export const parse = reading(single);
export const connect = connecting(parse);

start(undefined, connect, single as never);
