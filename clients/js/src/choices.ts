/** The client for questions of which people choose several labels. */
import { connecting } from "./client.ts";
import { reading } from "./question.ts";
import { several } from "./several.ts";
import { start } from "./tag.ts";

export { DeniableError } from "./errors.ts";

export const parse = reading(several);
export const connect = connecting(parse);

start("choices", connect, several as never);
