/**
 * A question: what is asked, which answers there are, and the protocol that hides them.
 *
 * Whoever asks names the digest of the question and vouches for it; the document itself may come
 * from anywhere. The loss is computed from the weights that are executed, not taken from its word.
 */
import { sha256 } from "./digest.ts";
import { DeniableError, expect } from "./errors.ts";
import { type Document, encodes, type Kind } from "./kinds.ts";
import { type Mechanism, sorted } from "./mechanism.ts";
import { readRepeat, type Repeat } from "./rota.ts";
import { cellOf, type Dimension, readSegments, type Stated } from "./segments.ts";
import { draw, numbers, type Source, system } from "./words.ts";

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
    const { digest: claimed, format, name, protocol, version } = document;
    expect(format === "deniable-question");
    const old = known.reads?.(document);
    expect(old || (version === 2 && known.names.test(document.answers.kind!)), "needs a newer client");
    const { labels, says: said, value } = known.read(old || document.answers, crypto, document);
    const repeat = !old && document.repeat ? readRepeat(document.repeat) : null;
    const segments = old ? [] : readSegments(document.segments, cells);
    const { name: kind, epsilon } = protocol;
    const domain_size = labels?.length;
    expect(!(domain_size! > longest / 16) && name && encodes([name, labels]));
    // Where there are no labels the protocol has no size either: it is open.
    const found = known.speaks[kind]!(protocol, BigInt(domain_size ?? 0)) as Mechanism<Value>;
    const { codes, limits, perturb, says, spends = +epsilon } = found;
    const loss = spends * (repeat?.times ?? 1);
    expect(loss <= ceiling, `epsilon ${loss} is above the ceiling of ${ceiling}`);
    // The canonical form (RFC 8785) of what this client makes of it, which must be what was named.
    const hash = await sha256(
      JSON.stringify(
        sorted({
          format,
          name: `${name}`,
          protocol: sorted({ name: `${kind}`, epsilon: +epsilon, domain_size, ...says }),
          version,
          ...(old ? said : { answers: said, repeat, segments }),
        }),
      ),
      crypto,
    );
    const hex = hash.reduce((hex, byte) => hex + (byte + 256).toString(16).slice(1), "");
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
        expect(found != null, "no such answer of " + JSON.stringify(said));
        const made = perturb(found!, draw(limits, source));
        return codes ? numbers(made as bigint[], codes) : (made as Uint8Array);
      },
    };
  } catch (error) {
    expect(error instanceof DeniableError);
    throw error;
  }
};
