/**
 * A question: what is asked, which answers there are, and the protocol that hides them.
 *
 * Whoever asks names the digest of the question and vouches for it; the document itself may come
 * from anywhere. The loss is computed from the weights that are executed, not taken from its word.
 */
import { sha256 } from "./digest.ts";
import { DeniableError, expect } from "./errors.ts";
import { encodes, type Kind, type Said } from "./kinds.ts";
import type { Mechanism, Specification } from "./mechanism.ts";
import { readRepeat, type Repeat } from "./rota.ts";
import { cellOf, type Dimension, readSegments, type Stated } from "./segments.ts";
import { draw, type Source, system } from "./words.ts";

export interface Question<Answer = string> {
  digest: string;
  name: string;
  /** The answers, or null where any text is one. */
  labels: string[] | null;
  /** What the document says of the answers. */
  says: object;
  /** The epsilon that all reports of one person spend together. */
  loss: number;
  /** When the question is asked again, or null where it is asked once. */
  repeat: Repeat | null;
  segments: Dimension[];
  /** The byte for a person's segment, which stands before the report; none where there are no segments. */
  cell(stated?: Stated): number[];
  /** Turn an answer into a deniable report. Each call draws anew; `Client.answer` keeps one. */
  privatize(answer: Answer, source?: Source): Promise<Uint8Array>;
}

export interface Limits {
  /** The most epsilon that one question may spend. */
  ceiling?: number | undefined;
  /** The most segments into which it may divide people. */
  cells?: number | undefined;
  /** The most characters of its document, so that nobody notices that it is read. */
  longest?: number;
  platform?: { crypto: Crypto };
}

interface Document extends Said {
  answers: Said;
  digest: string;
  format: string;
  version: number;
  name: string;
  protocol: Specification;
  repeat: Repeat | null;
  segments: Dimension[];
}

const sorted = (object: object): object => Object.fromEntries(Object.entries(object).sort());

export type Parse<Answer> = (text: string, digest: string, limits?: Limits) => Promise<Question<Answer>>;

/**
 * Return how to read questions of a kind, refusing what is not the one named, not sound, or gives away
 * too much.
 */
export const reading = <Answer, Value>(known: Kind<Answer, Value>): Parse<Answer> => async (
  text,
  digest,
  { ceiling = 5, cells = 64, longest = 1 << 20, platform: { crypto } = globalThis } = {},
) => {
  try {
    expect(crypto.subtle, "no secure context");
    expect(text.length <= longest);
    const document = JSON.parse(text) as Document;
    const { answers, digest: claimed, format, name, protocol, version } = document;
    expect(format === "deniable-question");
    // Version 2 is for what version 1 cannot say.
    const second = version === 2;
    expect(second ? known.names.test(answers.kind!) : version === 1, "needs a newer client");
    const { labels, says: said, value } = known.read(second ? answers : document, crypto, protocol);
    const repeat = second && document.repeat ? readRepeat(document.repeat) : null;
    const segments = second ? readSegments(document.segments, cells) : [];
    expect(!second || repeat || segments[0] || answers.discover || !/^(choice|text)$/.test(answers.kind!));
    const { name: kind, epsilon, p, q } = protocol;
    const domain_size = labels?.length;
    expect(!(domain_size! > longest / 16) && name && encodes([name, labels]));
    // Where there are no labels the protocol has no size either: it is open.
    const { limits, perturb, says } = known.protocols[kind]!(protocol, BigInt(domain_size ?? 0)) as Mechanism<Value>;
    const stated = kind === "UE" ? undefined : +epsilon;
    const loss = (stated ?? Math.log((p / q) * ((1 - q) / (1 - p)))) * (repeat?.times ?? 1);
    expect(loss <= ceiling, `epsilon ${loss} is above the ceiling of ${ceiling}`);
    // The canonical form (RFC 8785) of what this client makes of it, which must be what was named.
    const found = await sha256(
      JSON.stringify(
        sorted({
          format,
          name: `${name}`,
          protocol: sorted({ name: `${kind}`, epsilon: stated, domain_size, ...says }),
          version,
          ...(second ? { answers: said, repeat, segments } : said),
        }),
      ),
      crypto,
    );
    const hex = found.reduce((hex, byte) => hex + (byte + 256).toString(16).slice(1), "");
    expect(hex === digest && hex === claimed, "not the question named");
    return {
      digest,
      name,
      labels,
      says: said,
      loss,
      repeat,
      segments,
      cell: (stated) => cellOf(segments, stated),
      async privatize(answer, source = system(crypto)) {
        const found = await value(answer, source);
        expect(found != null, "no such answer");
        return perturb(found!, draw(limits, source));
      },
    };
  } catch (error) {
    expect(error instanceof DeniableError);
    throw error;
  }
};
