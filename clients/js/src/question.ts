/**
 * A question: what is asked, which answers there are, and the protocol that hides them.
 *
 * Whoever asks names the digest of the question and vouches for it; the document itself may come
 * from anywhere. The loss is computed from the weights that are executed, not taken from its word.
 */
import { canonical, sha256 } from "./canonical.ts";
import { expect, fail } from "./errors.ts";
import { loss, within } from "./loss.ts";
import type { Specification } from "./mechanism.ts";
import { mechanism } from "./protocols/index.ts";
import { draw, type Source, system, word } from "./words.ts";

/** The epsilon that a question may spend, unless told otherwise. */
export const CEILING = 5;

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
  ceiling?: number;
  platform?: { crypto: Crypto };
}

interface Document {
  format: unknown;
  version: unknown;
  name: string;
  labels: string[] | null;
  other: string | null;
  protocol: Specification;
}

/** Read a question, refusing one that is not the one named, not sound, or that gives away too much. */
export const parse = async (
  text: string,
  digest: string,
  { ceiling = CEILING, platform: { crypto } = globalThis }: Limits = {},
): Promise<Question> => {
  try {
    const { digest: claimed, ...document } = JSON.parse(text) as Document & { digest: string };
    expect(!!crypto.subtle, "a secure context");
    const hash = await sha256(canonical(document), crypto);
    const found = hash.reduce((hex, byte) => hex + (byte + 256).toString(16).slice(1), "");
    expect(found === digest && found === claimed, `the digest ${digest}`, found);
    return check(document, digest, ceiling, crypto);
  } catch (error) {
    return fail("a question", error);
  }
};

const check = (document: Document, digest: string, ceiling: number, crypto: Crypto): Question => {
  const { format, version, name, labels, other, protocol } = document;
  const complete = Object.keys(document).length === 6;
  expect(complete && format === "deniable-question" && version === 1, "version 1", version);
  expect(!!name && typeof name === "string", "a name", name);

  // Where there are no labels the protocol has no size either: it is open.
  const index = labels && new Map(labels.map((label, i) => [label, i]));
  const texts = !labels?.some((label) => typeof label !== "string");
  expect(texts && index?.size === protocol.domain_size && labels?.length === index?.size, "a label for each value");
  expect(other === null || !!index?.has(other), "other among the labels", other);

  const { limits, perturb, ratio } = mechanism(protocol);
  const { epsilon = protocol.name === "UE" ? ceiling : 0 } = protocol;
  const most = Math.min(epsilon, ceiling);
  expect(typeof epsilon === "number" && within(ratio, most), `a loss of at most ${most}`, loss(ratio));
  return {
    digest,
    name,
    labels,
    loss: loss(ratio),
    async privatize(answer, source = system(crypto)) {
      canonical(answer); // which refuses what has no encoding
      const value = index
        ? BigInt(index.get(answer) ?? index.get(other!) ?? fail("an answer", answer))
        : word(await sha256(answer, crypto), 0);
      return perturb(value, draw(limits, source));
    },
  };
};
