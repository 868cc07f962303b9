/** Vectors replayed and reports drawn through the public interface, in Node and in a browser alike. */

const PROTOCOLS = ["DE", "UE", "SUE", "OUE", "THE", "LH", "BLH", "OLH", "OpenLH", "SubsetSelection", "AffineSelection"];
/** The protocols that the client does not speak. */
const FOREIGN = [
  "SHE", "RAPPOR", "BasicRAPPOR", "RandomMatrixProjection", "SetSelection", "PolynomialSelection", "Levels", "Views",
  "Discovery",
];

export const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** WebCrypto, except that the SHA-256 of "=N" begins with the integer N: vectors have fingerprints. */
const crypto = {
  getRandomValues: (array) => globalThis.crypto.getRandomValues(array),
  subtle: {
    async digest(name, data) {
      const text = new TextDecoder().decode(data);
      if (!text.startsWith("=")) return globalThis.crypto.subtle.digest(name, data);
      const result = new ArrayBuffer(32);
      new DataView(result).setBigUint64(0, BigInt(text.slice(1)), true);
      return result;
    },
  },
};

/** JSON with sorted keys and no spaces, in a second and slower way than the client's. */
export const canonical = (item) =>
  JSON.stringify(item, (_, value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, value[key]]))
      : value,
  );

/** Return the text of a question and its digest; each label is "=" and its value. */
export const ask = async (protocol, more = {}) => {
  const labels = protocol.domain_size ? Array.from({ length: protocol.domain_size }, (_, i) => `=${i}`) : null;
  const question = { format: "deniable-question", version: 1, name: "?", labels, other: null, protocol, ...more };
  const hash = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(question)));
  const digest = hex(new Uint8Array(hash));
  return { text: JSON.stringify({ ...question, digest }), digest };
};

const load = async (parse, protocol) => {
  const { text, digest } = await ask(protocol);
  return parse(text, digest, { ceiling: 100, longest: 1 << 24, platform: { crypto } });
};

/** Replay the vectors of one protocol; return how many cases there were and what went wrong. */
export const replay = async (parse, name, { vectors }) => {
  const wrong = [];
  let cases = 0;
  for (const vector of vectors) {
    if (FOREIGN.includes(name)) {
      const error = await load(parse, vector.protocol).catch((error) => error);
      if (!/cannot answer this question/.test(error.message)) wrong.push(`${name} was not refused: ${error}`);
      continue;
    }
    const question = await load(parse, vector.protocol);
    for (const { why, value, random, report } of vector.cases) {
      cases += 1;
      const data = bytes(random);
      let position = 0;
      const source = (count) => data.subarray(position, (position += count));
      const made = hex(await question.privatize(`=${value}`, source));
      if (made !== report || position !== data.length) wrong.push(`${name} ${why}: ${made}, not ${report}`);
    }
  }
  if (![...PROTOCOLS, ...FOREIGN].includes(name)) wrong.push(`${name} is neither spoken nor foreign`);
  return { cases, wrong };
};

/** Check that an open question takes the fingerprints of labels for their values. */
export const replayFingerprints = async (parse, { vectors }, open) => {
  const [{ protocol }] = open.vectors;
  const { text, digest } = await ask(protocol);
  const question = await parse(text, digest);
  const wrong = [];
  for (const { label, fingerprint } of vectors) {
    // With a1 = 2^32 and no other term the upper half of h is the lower half of the value.
    const words = new Uint8Array(new BigUint64Array([1n << 32n, 0n, 0n, 0n]).buffer);
    const report = await question.privatize(label, () => words);
    const hash = ((BigInt(fingerprint) & 0xffffffffn) * BigInt(protocol.g)) >> 32n;
    if (report.at(-1) !== Number(hash)) wrong.push(label);
  }
  return { cases: vectors.length, wrong };
};

/** Return the text and the digest of a question about a set, with parts replaced. */
export const askSet = (protocol, cut = false, more = {}) => {
  const labels = Array.from({ length: protocol.domain_size }, (_, i) => `=${i}`);
  const answers = { kind: "choices", labels, at_most: protocol.at_most, cut };
  const parts = { version: 2, answers, repeat: null, segments: [], labels: undefined, other: undefined };
  return ask(protocol, { ...parts, ...more });
};

/** Replay the vectors of a protocol of sets, or those of sets that are cut, with the client for sets. */
export const replaySets = async (parse, { vectors }) => {
  const wrong = [];
  let count = 0;
  for (const { protocol, cases, ...single } of vectors) {
    const { text, digest } = await askSet(protocol, !cases);
    const question = await parse(text, digest, { ceiling: 100, longest: 1 << 24 });
    for (const { why = "cut", row, items, random, report } of cases ?? [single]) {
      count += 1;
      const data = bytes(random);
      let position = 0;
      const source = (size) => data.subarray(position, (position += size));
      // In any order: a set has none. What is beyond the labels stands for those that are missing.
      const held = items ?? row.filter((point) => point < protocol.domain_size).reverse();
      const made = hex(await question.privatize(held.map((item) => `=${item}`), source));
      if (made !== report || position !== data.length) wrong.push(`${why}: ${made}, not ${report}`);
    }
  }
  return { cases: count, wrong };
};

/** Return the text and the digest of a question about a number or a record. */
export const askRecord = (protocol, answers) =>
  ask(protocol, { version: 2, answers, repeat: null, segments: [], labels: undefined, other: undefined });

/** Replay the vectors of views: a digit of a value is an attribute, and each place a label. */
export const replayViews = async (parse, { vectors }) => {
  const wrong = [];
  let count = 0;
  for (const { protocol, cases } of vectors) {
    const { radices } = protocol;
    const parts = radices.map((radix, i) => {
      const labels = Array.from({ length: radix }, (_, j) => `=${j}`);
      return { name: `digit ${i}`, answers: { kind: "choice", labels, other: null } };
    });
    const tables = protocol.views
      .filter((_, i) => protocol.protocols[i].name !== "Levels")
      .map((view) => view.map((digit) => `digit ${digit}`));
    const { text, digest } = await askRecord(protocol, { kind: "record", parts, tables });
    const question = await parse(text, digest, { ceiling: 100 });
    for (const { why, value, random, report } of cases) {
      count += 1;
      const data = bytes(random);
      let position = 0;
      const source = (size) => data.subarray(position, (position += size));
      let rest = BigInt(value);
      const held = {};
      for (let i = radices.length; i--; rest /= BigInt(radices[i])) held[`digit ${i}`] = `=${rest % BigInt(radices[i])}`;
      const made = hex(await question.privatize(held, source));
      if (made !== report || position !== data.length) wrong.push(`${why}: ${made}, not ${report}`);
    }
  }
  return { cases: count, wrong };
};

/** Draw reports of one value from the platform's own randomness, one after the other as bytes. */
export const sample = async (parse, protocol, value, count) => {
  const question = await load(parse, protocol);
  const label = `=${value}`;
  const first = await question.privatize(label);
  const all = new Uint8Array(count * first.length);
  all.set(first);
  for (let i = 1; i < count; i++) all.set(await question.privatize(label), i * first.length);
  return all;
};
