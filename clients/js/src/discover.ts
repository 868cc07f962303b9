/** The client for questions whose texts are to be discovered. */
import { connecting } from "./client.ts";
import { type CodeDocument, readCode } from "./code.ts";
import { expect } from "./errors.ts";
import type { Kind } from "./kinds.ts";
import { discovery } from "./protocols/discovery.ts";
import { reading } from "./question.ts";
import { start } from "./tag.ts";

export { DeniableError } from "./errors.ts";

/** Any text: none is refused. */
const text: Kind<string, bigint[]> = {
  names: /^text$/,
  protocols: { __proto__: null, Discovery: discovery } as never,
  read({ discover, kind }) {
    const { alphabet, books, fold, phrases } = (discover as { code: CodeDocument }).code;
    const write = readCode({ alphabet, books, fold, phrases });
    expect(kind);
    return {
      labels: null,
      says: { discover: { code: { alphabet, books, fold, phrases } }, kind },
      value: (answer) => (typeof answer === "string" ? write(answer) : undefined),
    };
  },
  asked: (form) => form.querySelector<HTMLInputElement>("[type=text]")?.value,
  written: (text) => text,
};

export const parse = reading(text);
export const connect = connecting(parse);

start("discover", connect, text as never);
