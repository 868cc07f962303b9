/**
 * The public code of texts that are to be discovered: a text becomes three words, whatever it is.
 *
 * Symbols are the bytes of an alphabet, END, ESC and phrases. Each is written by the book of the symbol
 * before it; docs/formats.md has the whole of it.
 */
import { expect } from "./errors.ts";
import { whole } from "./mechanism.ts";
import { WORD } from "./words.ts";

/** A code as a document has it. Nothing in it is trusted. */
export interface CodeDocument {
  alphabet: string;
  books: string[];
  fold: string;
  phrases: string[];
}

const GAMMA = 0x9e3779b97f4a7c15n;

/** SplitMix64, as Python has it. */
export const mix = (z: bigint): bigint => {
  for (const [shift, factor] of [[30n, 0xbf58476d1ce4e5b9n], [27n, 0x94d049bb133111ebn], [31n, 1n]] as const) {
    z = BigInt.asUintN(64, z);
    z = (z ^ (z >> shift)) * factor;
  }
  return z;
};

const unhex = (text: string): number[] => Array.from(text.matchAll(/../g), (hex) => +`0x${hex}`);

/** A number in so many bits, as text. */
const binary = (number: number, size: number): string => number.toString(2).padStart(size, "0");

/** The bits of each symbol, counted through by length, then by symbol. */
const canonical = (book: string): string[] => {
  const found: string[] = [];
  let bits = 0;
  for (let size = 1; size < 16; size++) {
    bits *= 2;
    [...book].forEach((digit, symbol) => {
      if (+`0x${digit}` === size) found[symbol] = binary(bits++, size);
    });
  }
  // As many codes of 15 bits as there are begin with one of these.
  expect(bits === 1 << 15);
  return found;
};

/** Read a code, refusing one that is none or too large: what was read, and what makes words of a text. */
export const readCode = ({ alphabet, books, fold, phrases }: CodeDocument): [CodeDocument, (text: string) => bigint[]] => {
  // The bytes of an alphabet, and phrases of 2 to 64 bytes. Whatever is within these limits is short.
  expect(!phrases[512] && (fold === "none" || fold === "case"));
  expect(/^\["([\da-f]{2})*"(,"([\da-f]{2}){2,64}")*]$/.test(JSON.stringify([alphabet, ...phrases])));
  const bytes = unhex(alphabet);
  const end = bytes.length;
  const size = end + 2 + phrases.length;
  const sound = RegExp(`^([1-9a-f]{${size}})?$`);
  expect(bytes.every((byte, i) => !(byte <= bytes[i - 1]!)) && new Set(phrases).size === phrases.length);
  expect(books.length === size + 1 && books[0] && books.filter(Boolean).length * (size - 1) + 255 <= 1 << 15);
  expect(books.every((book) => sound.test(book)));
  const tables = books.map((book) => book && canonical(book));
  // What each symbol stands for: END for nothing more, ESC for whatever nothing else does.
  const symbols = [...bytes.map((byte) => [byte]), [undefined], [], ...phrases.map(unhex)];
  const longest = [...symbols.keys()].sort((a, b) => symbols[b]!.length - symbols[a]!.length);
  const write = (text: string): bigint[] => {
    // Half a surrogate pair is encoded as U+FFFD.
    const all = new TextEncoder().encode((fold === "case" ? text.toLowerCase() : text).normalize("NFC"));
    let length = 1024;
    while ((all[length]! & 0xc0) === 0x80) length--;
    const data = all.slice(0, length);
    let bits = "";
    let book = 1;
    for (let at = 0; at <= data.length; ) {
      const symbol = longest.find((i) => symbols[i]!.every((byte, k) => data[at + k] === byte))!;
      bits += (tables[book] || tables[0]!)[symbol]! + (symbol === end + 1 ? binary(data[at]!, 8) : "");
      at += symbols[symbol]!.length || 1;
      // END has no book, since nothing follows it.
      book = symbol > end ? symbol + 1 : symbol + 2;
    }
    const [first, ...others] = bits.match(/.{1,64}/g)!.map((block) => BigInt(`0b${block.padEnd(64, "0")}`));
    return [first!, others.reduce((rest, block) => mix((rest ^ block) + GAMMA), 0n), BigInt(bits.length)];
  };
  return [{ alphabet, books, fold, phrases }, write];
};

/** How texts are cut into pieces, as the protocol says. */
export interface Layout {
  payload: number;
  check: number;
  bucket_bits: number;
  piece_bits: number;
  salt: string;
}

/**
 * Check how texts are cut: what was read, what returns the cell of a value in each piece, how many pieces
 * there are, and the bits of a cell.
 */
export const readLayout = ({
  payload,
  check,
  bucket_bits,
  piece_bits,
  salt,
}: Layout): [Layout, (value: bigint[]) => bigint[], bigint, number] => {
  const pieces = whole(payload, 13) + whole(check, 9);
  const size = bucket_bits + piece_bits;
  whole(bucket_bits, 13), whole(piece_bits, 13);
  expect(payload * piece_bits <= 60 && piece_bits > 1 && size <= 22 && salt.length === 16 && /^[\da-f]+$/.test(salt));
  /** Some bits of a word, those before `end`. */
  const bits = (word: bigint, end: number, count: number): bigint => BigInt.asUintN(count, word >> BigInt(64 - end));
  /** The cells of the payload, then those of the hash. */
  const cells = ([first, rest, length]: bigint[]): bigint[] => {
    const h = mix((mix(first! ^ BigInt(`0x${salt}`)) ^ rest!) + length! * GAMMA);
    const filled = first! | (mix(h + GAMMA) & ((WORD - 1n) >> length!));
    const bucket = bits(h, bucket_bits, bucket_bits) << BigInt(piece_bits);
    return Array.from({ length: payload + check }, (_, j) =>
      j < payload
        ? bucket | bits(filled, (j + 1) * piece_bits, piece_bits)
        : bits(mix(h + BigInt(2 + j - payload) * GAMMA), size, size),
    );
  };
  return [{ payload, check, bucket_bits, piece_bits, salt }, cells, pieces, size];
};
