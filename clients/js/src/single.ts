/** One answer: a label of a list, or any text where there is none. */
import { sha256 } from "./digest.ts";
import { expect } from "./errors.ts";
import { encodes, indexOf, type Kind } from "./kinds.ts";
import { PROTOCOLS } from "./protocols/index.ts";
import { words } from "./words.ts";

export const single: Kind<string, bigint> = {
  reads: ({ labels, other, version }) => version === 1 && { labels, other },
  names: /^(choice|text)$/,
  speaks: PROTOCOLS,
  read({ kind, labels, other }, crypto, { repeat, segments }) {
    // Version 2 is for what version 1 cannot say.
    expect(!kind || repeat || segments[0]);
    if (kind === "text") labels = other = null;
    const index = labels && indexOf(labels);
    expect(index?.size === labels?.length && (other === null || index?.has(other)));
    const says = { labels: labels && labels.map(String), other };
    return {
      labels,
      says: kind ? { kind, ...(labels && says) } : says,
      async value(answer) {
        const value = index ? (index.get(answer) ?? index.get(other!)) : words(await sha256(answer, crypto))[0];
        return encodes(answer) && value != null ? BigInt(value) : undefined;
      },
    };
  },
  asked: (form) => form.querySelector<HTMLInputElement>(":checked:enabled,[type=text]")?.value,
  written: (text) => text,
};
