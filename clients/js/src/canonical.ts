/** The one JSON form of a document (RFC 8785), and the SHA-256 of text. */
import { expect } from "./errors.ts";

/** Write sorted keys, no spaces, and numbers as JavaScript does; half a surrogate pair has no form. */
export const canonical = (item: unknown): string => {
  if (Array.isArray(item)) return `[${item.map(canonical)}]`;
  if (item && typeof item === "object") {
    const keys = Object.keys(item).sort() as (keyof typeof item)[];
    return `{${keys.map((key) => `${canonical(key)}:${canonical(item[key])}`)}}`;
  }
  expect(!/\p{Cs}/u.test(item as string), "text");
  return JSON.stringify(item);
};

export const sha256 = async (text: string, { subtle }: Crypto): Promise<Uint8Array> =>
  new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(text)));
