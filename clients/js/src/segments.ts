/** Segments: public groups by which reports are counted, as one byte beside the report. */
import { expect } from "./errors.ts";

/** A name and its values; `other` stands for all that are not listed. */
export interface Dimension {
  name: string;
  other: string | null;
  values: string[];
}

/** The values of a person by dimension. */
export type Stated = Record<string, string>;

/** How many combinations of values there are. */
const count = (dimensions: Dimension[]): number => dimensions.reduce((cells, { values }) => cells * values.length, 1);

/** Check names or values: each once, and from 1 to 64 characters that are no controls. */
const check = (texts: string[], most: number): string[] => {
  const fits = (text: string): boolean => /^(?!not stated$)[^\0-\x1f\x7f]{1,64}$/u.test(text);
  expect(!texts[most] && new Set(texts).size === texts.length && texts.every(fits));
  return texts.map(String);
};

/** Check what a document says of its segments. */
export const readSegments = (dimensions: Dimension[], most: number): Dimension[] => {
  const names = check(dimensions.map(({ name }) => name), 4);
  expect(!/[:=]/.test(`${names}`));
  expect(!names[0] || count(dimensions) <= Math.min(most, 64), "too many segments");
  return dimensions.map(({ other, values }, i) => {
    expect(values[1] && (other === null || values.includes(other)));
    return { name: names[i]!, other, values: check(values, 32) };
  });
};

/** The bytes before a report: none, or the cell of a person, whose number is one more where it is not stated. */
export const cellOf = (dimensions: Dimension[], stated: Stated = {}): number[] => {
  const rest = { ...stated };
  const cell = dimensions.reduce((sum, { name, other, values }) => {
    const place = values.indexOf(values.includes(rest[name]!) ? rest[name]! : other!);
    // What is no value, and has no other one, stays.
    if (place >= 0) delete rest[name];
    // One that is not stated is beyond all cells.
    return sum * values.length + (place >>> 0);
  }, 0);
  expect(
    Object.values(rest).every((value) => value == null),
    "no such segment of " + JSON.stringify(dimensions),
  );
  return dimensions[0] ? [Math.min(cell, count(dimensions))] : [];
};
