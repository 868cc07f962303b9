/** The client for numbers and records: the build of its own, in both forms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { packaged } from "../build.mjs";
import { views } from "../src/protocols/views.ts";
import { readVectors } from "./modules.js";
import { askRecord, replayViews } from "./replay.js";

const MODULES = { source: await import("../src/views.ts"), "built file": await import(packaged("views")) };
const VIEWS = readVectors("Views").vectors.map(({ protocol }) => protocol);
const choice = (labels, other = null) => ({ kind: "choice", labels, other });
const number = (low, high, step) => ({ kind: "number", low, high, step, unit: "", want: ["distribution"] });
const zeros = (count) => new Uint8Array(count);

/** A record of yes or no, three labels with one for all others, as the first vector has them. */
const [first] = VIEWS;
const parts = [
  { name: "plan", answers: choice(["free", "pro"]) },
  { name: "country", answers: choice(["DE", "FR", "other"], "other") },
];
const tables = [["plan"], ["country"], ["plan", "country"]];

for (const [form, { parse }] of Object.entries(MODULES)) {
  test(`the ${form} makes the reports of the vectors of Views`, async () => {
    const { cases, wrong } = await replayViews(parse, readVectors("Views"));
    assert.deepEqual(wrong, []);
    assert.ok(cases > 50);
  });

  test(`the ${form} takes whole records, and other labels for the other one`, async () => {
    const { text, digest } = await askRecord(first, { kind: "record", parts, tables });
    const question = await parse(text, digest);
    const report = (answer) => question.privatize(answer, zeros);
    assert.deepEqual(await report({ country: "IT", plan: "pro" }), await report({ plan: "pro", country: "other" }));
    const wrong = [{}, { plan: "pro" }, { plan: "pro", country: "DE", age: 4 }, { plan: "no", country: "DE" }, undefined, null, 7, "pro",
      { plan: "pro", country: 4 }, { plan: "pro", place: "DE" }, ["pro", "DE"]];
    for (const answer of wrong) await assert.rejects(report(answer), { name: "DeniableError", message: /no such answer/ });
  });

  test(`the ${form} rounds numbers to the nearest step, halves up, and takes others for the nearest end`, async () => {
    const protocol = { ...first, radices: [21], views: [[0]], lots: [`${1n << 64n}`], protocols: [directOf(21)] };
    const { text, digest } = await askRecord(protocol, number(0, 100, 5));
    const question = await parse(text, digest);
    for (const [given, place] of [[0, 0], [37.4, 7], [37.5, 8], [400, 20], [-5, 0], [1e300, 20], [97.5, 20]])
      assert.deepEqual([...(await question.privatize(given, zeros))], [place]);
    for (const answer of [NaN, Infinity, "5", null, undefined, true, {}]) await assert.rejects(question.privatize(answer), /no such answer/);
  });

  test(`the ${form} refuses what is no record, no number and no view`, async () => {
    const record = { kind: "record", parts, tables };
    const asked = (protocol, answers) => askRecord(protocol, answers);
    const lots = [...first.lots];
    lots[0] = `${BigInt(lots[0]) - 1n}`;
    for (const [why, protocol, answers] of [
      ["another order of the tables' names", first, { ...record, tables: [["plan"], ["country"], ["country", "plan"]] }],
      ["a table twice", first, { ...record, tables: [...tables, ["plan"]] }],
      ["a table of nothing", first, { ...record, tables: [...tables, []] }],
      ["a table of another attribute", first, { ...record, tables: [...tables, ["age"]] }],
      ["an attribute in no table", first, { ...record, tables: [["plan"]] }],
      ["a name twice", first, { ...record, parts: [parts[0], { ...parts[1], name: "plan" }] }],
      ["a long name", first, { ...record, parts: [parts[0], { ...parts[1], name: "x".repeat(81) }] }],
      ["fewer labels", first, { ...record, parts: [parts[0], { ...parts[1], answers: choice(["a", "b"]) }] }],
      ["a label twice", first, { ...record, parts: [parts[0], { ...parts[1], answers: choice(["a", "b", "b"]) }] }],
      ["another kind of attribute", first, { ...record, parts: [parts[0], { ...parts[1], answers: { kind: "text" } }] }],
      ["one more field", first, { ...record, more: 1 }],
      ["lots that do not add up", { ...first, lots }, record],
      ["a lot of 0", { ...first, lots: ["0", `${1n << 64n}`, "0"] }, record],
      ["lots as numbers", { ...first, lots: first.lots.map(Number) }, record],
      ["two equal views", { ...first, views: [[0], [1], [1]], protocols: [...first.protocols.slice(0, 2), first.protocols[1]] }, record],
      ["an unknown digit", { ...first, views: [[0], [1], [0, 2]] }, record],
      ["a repeated digit", { ...first, views: [[0], [1], [0, 0]] }, record],
      ["digits in another order", { ...first, views: [[0], [1], [1, 0]] }, record],
      ["a digit as text", { ...first, views: [["0"], [1], [0, 1]] }, record],
      ["no digits", { ...first, views: [[], [1], [0, 1]] }, record],
      ["a view without a protocol", { ...first, protocols: first.protocols.slice(1) }, record],
      ["another epsilon in a view", { ...first, protocols: [{ ...first.protocols[0], epsilon: 2 }, ...first.protocols.slice(1)] }, record],
      ["a protocol that no view has", { ...first, protocols: [{ ...first.protocols[0], name: "OUE" }, ...first.protocols.slice(1)] }, record],
      ["radices beyond 2^64", { ...first, radices: Array(65).fill(2) }, record],
      ["a step that does not divide", first, number(0, 1, 0.3)],
      ["a step of 0", first, number(0, 1, 0)],
      ["low above high", first, number(1, 0, 0.5)],
      ["too many steps", { ...first, radices: [65537] }, number(0, 65536, 1)],
      ["a number as text", first, number("0", 1, 0.5)],
      ["more steps than values", first, number(0, 6, 1)],
    ]) {
      const { text, digest } = await asked(protocol, answers);
      await assert.rejects(parse(text, digest, { ceiling: 100 }), { name: "DeniableError" }, why);
    }
    const sound = await asked(first, record);
    assert.equal((await parse(sound.text, sound.digest)).digest, sound.digest);
    await assert.rejects(parse(sound.text, sound.digest, { ceiling: 0.5 }), /above the ceiling/);
  });
}

/** Direct encoding at epsilon 1 over some values, with the weights that the client computes. */
function directOf(size) {
  const said = views({ ...first, radices: [size], views: [[0]], lots: [`${1n << 64n}`], protocols: [{ name: "DE" }] }).says;
  return said.protocols[0];
}

test("no view is drawn by what the answer is, and each by its lot", () => {
  const { limits, perturb } = views(first);
  const counts = [0, 0, 0];
  let end = 0n;
  first.lots.forEach((lot, i) => {
    for (const word of [end, (end += BigInt(lot)) - 1n]) {
      const codes = [0n, 1n, 5n].map((value) => Number(perturb(value, [word, ...limits.slice(1).map(() => 0n)])[0]));
      const offsets = [0, 2, 5, 20];
      for (const code of codes) assert.ok(code >= offsets[i] && code < offsets[i + 1]);
      counts[i]++;
    }
  });
  assert.deepEqual(counts, [2, 2, 2]);
});
