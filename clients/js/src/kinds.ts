/**
 * Kinds of answers: what a document says of them, which protocols hide them, and how one becomes a value.
 *
 * A page loads a build that knows the kind of its question and no other, so that it stays small. The
 * client is the same in all builds; it gets its kind from the entry, `index.ts` or one like it.
 */
import type { Mechanism, Specification } from "./mechanism.ts";
import type { Repeat } from "./rota.ts";
import type { Dimension } from "./segments.ts";
import type { Source } from "./words.ts";

/** What a document says of its answers, under the names of its version and kind. Nothing is trusted. */
export interface Said {
  kind?: string;
  labels: string[] | null;
  other: string | null;
  at_most?: number;
  cut?: boolean;
  discover?: unknown;
  high?: number;
  low?: number;
  parts?: { name: string; answers: Said }[];
  step?: number;
  tables?: string[][];
  unit?: string;
  want?: string[];
}

export interface Document extends Said {
  answers: Said;
  digest: string;
  format: string;
  version: number;
  name: string;
  protocol: Specification;
  repeat: Repeat | null;
  segments: Dimension[];
}

/** Answers as a question has them: what its canonical form says, and how an answer becomes a value. */
export interface Answers<Answer, Value> {
  labels: string[] | null;
  /** What stands in the canonical form, in the order of the names. */
  says: object;
  /** The value of an answer, or undefined for what is none. Something may be drawn before it is looked at. */
  value(answer: Answer, source: Source): Promise<Value | undefined> | Value | undefined;
}

export interface Kind<Answer = never, Value = never> {
  /** What a document of version 1 says of its answers, if it is one. */
  reads?(document: Document): Said | false;
  /** The names that documents of version 2 give it. */
  names: RegExp;
  speaks: Record<string, (specification: Specification, d: bigint) => Mechanism<Value> | undefined | false>;
  read(said: Said, crypto: Crypto, document: Document): Answers<Answer, Value>;
  /** The answer that a form holds, or undefined as long as there is none. */
  asked(form: HTMLFormElement): Answer | undefined;
  /** The answer that an attribute of a page holds. */
  written(text: string): Answer;
  /** Prepare a form for its question. */
  prepare?(form: HTMLFormElement, said: object): void;
}

/** Tell whether text has an encoding: half a surrogate pair has none. */
export const encodes = (text: unknown): boolean => !/\p{Cs}/u.test(text as string);

/** What a page wrote as JSON, or nothing: an error of the platform would quote the answer. */
export const written = <Answer>(text: string): Answer => {
  try {
    return JSON.parse(text) as Answer;
  } catch {}
  return undefined as Answer;
};

/** The place of each label; fewer than there are labels if one is there twice. */
export const indexOf = (labels: string[]): Map<unknown, number> => new Map(labels.map((label, i) => [label, i]));
