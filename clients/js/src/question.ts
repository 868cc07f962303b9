/**
 * A question: what is asked, which answers there are, and the protocol that hides them.
 *
 * Whoever asks names the digest of the question and vouches for it; the document itself may come
 * from anywhere. The loss is computed from the weights that are executed, not taken from its word.
 */
import { sha256 } from "./digest.ts";
import { DeniableError, expect } from "./errors.ts";
import type { Mechanism, Specification } from "./mechanism.ts";
import { PROTOCOLS } from "./protocols/index.ts";
import { draw, type Source, system, words } from "./words.ts";

export interface Question {
  digest: string;
  name: string;
  /** The answers, or null where any text is one. */
  labels: string[] | null;
  /** The epsilon that one report spends. */
  loss: number;
  /** Turn an answer into a deniable report. Each call draws anew; `Client.answer` keeps one. */
  privatize(answer: string, source?: Source): Promise<Uint8Array>;
}

export interface Limits {
  /** The most epsilon that one question may spend. */
  ceiling?: number | undefined;
  /** The most characters of its document, so that nobody notices that it is read. */
  longest?: number;
  platform?: { crypto: Crypto };
}

interface Document {
  digest: string;
  format: string;
  version: number;
  name: string;
  labels: string[] | null;
  other: string | null;
  protocol: Specification;
}

/** Tell whether text has an encoding: half a surrogate pair has none. */
const encodes = (text: unknown): boolean => !/\p{Cs}/u.test(text as string);

/** Read a question, refusing one that is not the one named, not sound, or that gives away too much. */
export const parse = async (
  text: string,
  digest: string,
  { ceiling = 5, longest = 1 << 20, platform: { crypto } = globalThis }: Limits = {},
): Promise<Question> => {
  try {
    expect(crypto.subtle, "no secure context");
    expect(text.length <= longest);
    const { digest: claimed, format, labels, name, other, protocol, version } = JSON.parse(text) as Document;
    expect(format === "deniable-question");
    // Version 2 is for what version 1 cannot say, and this client knows nothing of that.
    expect(version === 1, "needs a newer client");
    const { name: kind, epsilon, p, q } = protocol;
    const domain_size = labels?.length;
    expect(!(domain_size! > longest / 16) && name && encodes([name, labels]));
    // Where there are no labels the protocol has no size either: it is open.
    const index = labels && new Map<string, number>();
    labels?.forEach((label, i) => index!.set(label, i));
    expect(index?.size === domain_size && (other === null || index?.has(other)));
    const { limits, perturb, says } = PROTOCOLS[kind]!(protocol, BigInt(domain_size ?? 0)) as Mechanism;
    const stated = kind === "UE" ? undefined : +epsilon;
    const loss = stated ?? Math.log((p / q) * ((1 - q) / (1 - p)));
    expect(loss <= ceiling, `epsilon ${loss} is above the ceiling of ${ceiling}`);
    // The canonical form (RFC 8785) of what this client makes of it, which must be what was named.
    const found = await sha256(
      JSON.stringify({
        format,
        labels: labels && labels.map(String),
        name: `${name}`,
        other,
        protocol: Object.fromEntries(
          Object.entries({ name: `${kind}`, epsilon: stated, domain_size, ...says }).sort(),
        ),
        version,
      }),
      crypto,
    );
    const hex = found.reduce((hex, byte) => hex + (byte + 256).toString(16).slice(1), "");
    expect(hex === digest && hex === claimed, "not the question named");
    return {
      digest,
      name,
      labels,
      loss,
      async privatize(answer, source = system(crypto)) {
        const value = index ? (index.get(answer) ?? index.get(other!)) : words(await sha256(answer, crypto))[0];
        expect(value != null && encodes(answer), "no such answer");
        return perturb(BigInt(value!), draw(limits, source));
      },
    };
  } catch (error) {
    expect(error instanceof DeniableError);
    throw error;
  }
};
