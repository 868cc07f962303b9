/** The client for questions whose texts are to be discovered. */
import { connecting } from "./client.ts";
import { type CodeDocument, readCode } from "./code.ts";
import type { Kind } from "./kinds.ts";
import { discovery } from "./protocols/discovery.ts";
import { reading } from "./question.ts";
import { start } from "./tag.ts";

export { DeniableError } from "./errors.ts";

/** Any text: none is refused. */
const text: Kind<string, bigint[]> = {
  names: /^text$/,
  speaks: { __proto__: null, Discovery: discovery } as never,
  read({ discover, kind }) {
    const [code, write] = readCode((discover as { code: CodeDocument }).code);
    return {
      labels: null,
      says: { discover: { code }, kind },
      value: (answer) => (typeof answer === "string" ? write(answer) : undefined),
    };
  },
  asked: (form) => form.querySelector<HTMLInputElement>("[type=text]")?.value,
  written: (text) => text,
};

export const parse = reading(text);
export const connect = connecting(parse);

start("discover", connect, text as never);
