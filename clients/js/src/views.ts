/** The client for questions about a number, or about several attributes of a person. */
import { connecting } from "./client.ts";
import { reading } from "./question.ts";
import { survey } from "./survey.ts";
import { start } from "./tag.ts";

export { DeniableError } from "./errors.ts";

export const parse = reading(survey);
export const connect = connecting(parse);

start("views", connect, survey as never);
