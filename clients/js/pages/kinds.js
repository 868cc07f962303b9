/**
 * Answers that are neither a label nor any text, on the page on which a question can be tried: their
 * fields, and what a report of them says. What is asked by lot is public, and read from the report.
 */

/**
 * @typedef {Record<string, any>} Document
 * @typedef {object} Told  What a report says of an answer.
 * @property {string} asked  What was asked by lot; empty where everything was.
 * @property {string[]} fitting  The answers that it names, in words.
 * @property {boolean} mine  Whether the person's own is among them.
 * @property {number} often  How often it is.
 * @property {[before: number, after: number] | null} odds  How likely an observer takes the person's own to be.
 * @property {string} [vague]  What it names in words, where nobody can list the answers.
 * @property {string} own  The person's own, as far as it was asked.
 * @property {number} [ticked]  Where an answer is a set: how many it has.
 * @property {boolean} [level]  Whether it names a level that a number was rounded to.
 * @typedef {object} Kind
 * @property {(Node | string)[]} fields
 * @property {(form: HTMLFormElement) => any} read  The answer that the form holds.
 * @property {(answer: any) => string} write  An answer in words.
 * @property {(answer: any, report: Uint8Array) => Told} tell
 * @property {(form: HTMLFormElement) => void} [prepare]
 * @property {(answer: any, report: Uint8Array, drawn: Uint8Array[]) => Followed} follow  The mathematics of a report.
 * @typedef {object} Followed
 * @property {import("./laws.js").Law} law
 * @property {{ label: string, value: bigint }[]} candidates  The answers that are told apart one by one.
 * @property {string} answer  The person's own among them.
 * @property {[missed: number, fitted: number]} [others]  How many more a report does not fit and fits.
 * @property {Uint8Array[]} drawn  The random bytes that the report was made of.
 * @property {string} given  What is said of it beforehand.
 */

import { readCode, readLayout } from "../src/code.ts";
import { several } from "../src/several.ts";
import { survey } from "../src/survey.ts";
import { integer, lawOf, wordsOf } from "./laws.js";
import { bytesOf, pieceLaw, viewLaw, viewOf } from "./lots.js";
import { containing, setLaw, setsBy } from "./sets.js";
import { brief, compared, fill, make } from "./shown.js";

/** A number of an attribute, by its place. @param {Document} answers @param {number} place */
const numbered = ({ low, step, unit }, place) => `${+(low + place * step).toPrecision(12)} ${unit}`.trim();
/** @param {Document} answers */
const stepsOf = ({ low, high, step }) => Math.floor((high - low) / step + 0.5) + 1;
/** The place of an answer to an attribute. @param {Document} part @param {any} answer */
const placeOf = (part, answer) => {
  if (part.kind === "number") {
    const inside = Math.min(Math.max(answer, part.low), part.high);
    return Math.min(Math.floor((inside - part.low) / part.step + 0.5), stepsOf(part) - 1);
  }
  const place = part.labels.indexOf(answer);
  return place < 0 ? part.labels.indexOf(part.other) : place;
};

/** A field for one attribute. @param {string} name @param {Document} part @param {Record<string, string>} data */
const fieldFor = (name, part, data) => {
  const attributes = { required: "", ...data };
  if (part.kind === "number") {
    const input = make("input", { type: "number", step: "any", inputmode: "decimal", ...attributes });
    const ends = `${numbered(part, 0)} – ${numbered(part, stepsOf(part) - 1)}`;
    return make("label", { class: "field short" }, make("span", {}, make("bdi", {}, brief(name, 60))), input, make("small", {}, ends));
  }
  const options = part.labels.map((/** @type {string} */ label) => make("option", { value: label }, brief(label, 60)));
  const select = make("select", attributes, make("option", { value: "", disabled: "", selected: "" }, "…"), ...options);
  return make("label", { class: "field short" }, make("span", {}, make("bdi", {}, brief(name, 60))), select);
};

/** How often a selection fits the true value, and how much likelier a value is that it fits. @param {Document} part */
const chances = ({ domain_size, g, levels, size, weights: { p, q, inside = p, outside = q }, window }) => {
  const kept = Number(size ?? window ?? 1);
  const all = Number(levels ?? g ?? domain_size);
  const [high, low] = [Number(inside), Number(outside)];
  return { often: (kept * high) / (kept * high + (all - kept) * low), ratio: high / low };
};

/** A number, or several attributes. @param {Document} answers @param {Document} protocol @param {Record<string, string>} said @returns {Kind} */
const surveyed = (answers, protocol, said) => {
  const single = answers.kind === "number";
  /** @type {{ name: string, answers: Document }[]} */
  const parts = single ? [{ name: said["your_answer"] ?? "", answers }] : answers.parts;
  const wide = protocol.radices.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  /** The cells of a view in words, and the person's own. @param {number[]} view @param {any} answer @param {number} size */
  const cellsFor = (view, answer, size) => {
    if (single) {
      const [width, steps] = [wide / size, stepsOf(answers)];
      const labels = Array.from({ length: Math.ceil(steps / width) }, (_, i) => {
        const last = Math.min((i + 1) * width, steps) - 1;
        return i * width === last ? numbered(answers, last) : `${numbered(answers, i * width)} – ${numbered(answers, last)}`;
      });
      return { labels, own: Math.floor(placeOf(answers, answer) / width) };
    }
    let labels = [""];
    let own = 0;
    for (const digit of view) {
      const { answers: part, name } = parts[digit];
      const rows = part.labels ?? Array.from({ length: stepsOf(part) }, (_, i) => numbered(part, i));
      labels = labels.flatMap((head) => rows.map((/** @type {string} */ row) => (head ? `${head}, ${row}` : row)));
      own = own * rows.length + placeOf(part, answer[name]);
    }
    return { labels, own };
  };
  /** What a view asks, its cells in words, and where the person's own is among them. @param {any} answer @param {number} place */
  const seen = (answer, place) => {
    const [view, part] = [protocol.views[place], protocol.protocols[place]];
    if (part.levels) {
      const top = part.levels - 1;
      const { answers: asked, name } = single ? { answers, name: "" } : parts[view[0]];
      const number = placeOf(asked, single ? answer : answer[name]);
      const labels = Array.from({ length: part.levels }, (_, i) => numbered(asked, ((part.domain_size - 1) * i) / top));
      const asking = fill(said["asked_level"], { count: part.levels });
      return { asked: asking, labels, number, own: (number * top) / (part.domain_size - 1), what: `one of ${part.levels} levels` };
    }
    const { labels, own } = cellsFor(view, answer, part.domain_size);
    const names = view.map((/** @type {number} */ digit) => brief(parts[single ? 0 : digit].name, 40));
    const rest = view.length < parts.length ? ` ${said["asked_rest"]}` : "";
    const about = fill(said["asked_about"], { what: names.join(` ${said["and"]} `) }) + rest;
    const range = fill(said["asked_range"], { count: labels.length });
    return { asked: single ? range : about, labels, number: own, own, what: single ? `which of ${labels.length} ranges it is in` : names.join(" and ") };
  };
  return {
    fields: parts.map((part) => fieldFor(part.name, part.answers, single ? {} : { "data-name": part.name })),
    read: (form) => survey.asked(form),
    write: (answer) =>
      parts.map(({ name, answers: part }) => {
        const held = single ? answer : answer[name];
        return part.kind === "number" ? numbered(part, placeOf(part, held)) : held;
      }).join(", "),
    tell(answer, report) {
      const { code, place } = viewOf(protocol, report);
      const part = protocol.protocols[place];
      const { often, ratio } = chances(part);
      const { asked, labels, own } = seen(answer, place);
      if (part.levels) {
        const mine = Math.round(own) === Number(code);
        return { asked, fitting: [labels[Number(code)]], mine, often, odds: null, own: labels[Math.round(own)], level: true };
      }
      const reading = lawOf(part).read(bytesOf(code));
      const fits = labels.map((/** @type {string} */ _, /** @type {number} */ i) => reading.fits(BigInt(i)));
      const fitting = labels.filter((/** @type {string} */ _, /** @type {number} */ i) => fits[i]);
      const weight = (/** @type {boolean} */ fit) => (fit ? ratio : 1);
      const after = weight(fits[own]) / fits.reduce((/** @type {number} */ sum, /** @type {boolean} */ fit) => sum + weight(fit), 0);
      return { asked, fitting, mine: fits[own], often, odds: [1 / labels.length, after], own: labels[own] };
    },
    follow(answer, report, drawn) {
      const { place } = viewOf(protocol, report);
      const { asked, labels, number, own, what } = seen(answer, place);
      const { law, first } = viewLaw(protocol, place, BigInt(number), what);
      const held = law.level ? Number(law.level(wordsOf(drawn, law.limits)[first])) : own;
      const candidates = labels.map((/** @type {string} */ label, /** @type {number} */ i) => ({ label, value: BigInt(i) }));
      return { law, candidates, answer: labels[held], drawn, given: asked };
    },
  };
};

/** A set of labels. @param {Document} answers @param {Document} protocol @param {Record<string, string>} said @returns {Kind} */
const ticked = (answers, protocol, said) => {
  const { labels, at_most: most } = answers;
  const d = labels.length;
  const boxes = labels.map((/** @type {string} */ label) =>
    make("label", { class: "choice" }, make("input", { type: "checkbox", value: label }), make("bdi", {}, brief(label, 60))),
  );
  return {
    fields: [...boxes, make("p", { class: "small quiet" }, `${said["ticked"]} `, make("output", {}))],
    read: (form) => several.asked(form),
    write: (answer) => answer.join(", ") || (said["nothing_ticked"] ?? ""),
    prepare: (form) => several.prepare?.(form, { at_most: most }),
    tell(answer, report) {
      const fits = containing(protocol, report);
      const fitting = labels.filter((/** @type {string} */ _, /** @type {number} */ i) => fits(i));
      // A report fits some of the points that the set was filled up to; those that fill it are not the person's.
      let often = 0;
      let fillersOnly = 1;
      for (const [hits, weight] of protocol.weights.entries()) {
        often += (Number(weight) / 2 ** 64) * (1 - fillersOnly);
        fillersOnly *= Math.max(0, most - answer.length - hits) / (most - hits);
      }
      const mine = answer.some((/** @type {string} */ label) => fitting.includes(label));
      return { asked: "", fitting, mine, often, odds: null, own: "", ticked: answer.length };
    },
    follow(answer, report, drawn) {
      // The blanks that fill a set up are its points too.
      const blanks = Array.from({ length: most - answer.length }, (_, i) => d + i);
      const points = [...answer.map((/** @type {string} */ label) => labels.indexOf(label)), ...blanks];
      const law = setLaw(protocol, answer.length, (sent) => points.some(containing(protocol, sent)));
      const [missed, fitted] = setsBy(protocol, containing(protocol, report));
      const mine = law.read(report).fits(0n);
      const own = this.write(answer);
      return {
        law,
        candidates: [{ label: own, value: 0n }],
        answer: own,
        others: [missed - Number(!mine), fitted - Number(mine)],
        // The first word would cut a larger set.
        drawn: answers.cut ? drawn.slice(1) : drawn,
        given: `An answer here is a whole set of at most ${most} of ${d} boxes.`,
      };
    },
  };
};

/** A text that is to be discovered. @param {Document} answers @param {Document} protocol @param {Record<string, string>} said @returns {Kind} */
const discovered = (answers, protocol, said) => {
  const [, write] = readCode(answers.discover.code);
  const [, cellsOf] = readLayout(/** @type {any} */ (protocol));
  const { closed, check, payload } = protocol;
  const codes = (BigInt(closed.g) ** BigInt(closed.digits) - 1n) * BigInt(closed.g);
  /** The piece that a report is of. @param {Uint8Array} report */
  const pieceOf = (report) => Number(integer(report) / codes);
  /** @param {string} text @param {number} piece */
  const cellOf = (text, piece) => cellsOf(write(text))[piece] ?? 0n;
  /** What was asked. @param {number} piece */
  const asking = (piece) => fill(said["asked_piece"], { place: piece + 1, count: payload + check });
  const input = make("input", { type: "text", autocomplete: "off", required: "", "aria-label": said["your_answer"] ?? "" });
  return {
    fields: [input],
    read: (form) => form.querySelector("input")?.value || undefined,
    write: String,
    tell(answer, report) {
      const piece = pieceOf(report);
      const mine = lawOf(closed).read(bytesOf(integer(report) % codes)).fits(cellOf(answer, piece));
      return { asked: asking(piece), fitting: [], vague: fill(said["sent_piece"], { count: closed.g }), mine, often: chances(closed).often, odds: null, own: "" };
    },
    follow(answer, report, drawn) {
      const piece = pieceOf(report);
      const candidates = [...new Set([answer, ...compared()])].map((label) => ({ label, value: cellOf(label, piece) }));
      return { law: pieceLaw(protocol, piece, codes), candidates, answer, drawn, given: asking(piece) };
    },
  };
};

/** What the page needs of a kind of answers; undefined for a label, and for any text. @param {Document} document @param {Record<string, string>} said */
export const kindOf = ({ answers, protocol }, said) => {
  if (protocol.name === "Views") return surveyed(answers, protocol, said);
  if (answers?.kind === "choices") return ticked(answers, protocol, said);
  return protocol.name === "Discovery" ? discovered(answers, protocol, said) : undefined;
};
