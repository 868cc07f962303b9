/** Numbers, and records of attributes that are numbers or labels. */
import { expect } from "./errors.ts";
import { encodes, indexOf, type Kind, type Said, written } from "./kinds.ts";
import { whole } from "./mechanism.ts";
import { type Viewing, views } from "./protocols/views.ts";

/** A record by the names of its attributes; "no answer" to one of them is a label. */
export type Held = Record<string, string | number>;

interface Attribute {
  /** How many values there are. */
  size: number;
  says: object;
  value(answer: unknown): number | undefined;
}

const attribute = ({ high, kind, labels, low, other, step, unit, want }: Said): Attribute => {
  if (kind === "choice") {
    const index = indexOf(labels!);
    expect(index.size === labels!.length && (other === null || index.has(other)) && encodes(labels));
    return {
      size: index.size,
      says: { kind, labels: labels!.map(String), other },
      value: (answer) => (typeof answer === "string" ? (index.get(answer) ?? index.get(other)) : undefined),
    };
  }
  /** How many steps there are from low to a number, rounded; what lies outside is taken for the nearest end. */
  const place = (number: number): number => Math.floor((Math.min(Math.max(number, low!), high!) - low!) / step! + 0.5);
  const last = place(high!);
  expect(
    kind === "number" &&
      step! > 0 &&
      whole(last, 65536) &&
      Math.abs((high! - low!) / step! - last) < 1e-6 &&
      /^\P{Cs}{0,20}$/u.test(unit!) &&
      want![0],
  );
  return {
    size: last + 1,
    says: {
      high: +high!,
      kind,
      low: +low!,
      step: +step!,
      unit: `${unit}`,
      want: ["distribution", "mean"].filter((name) => want!.includes(name)),
    },
    value: (answer) => (Number.isFinite(answer) ? place(answer as number) : undefined),
  };
};

export const survey: Kind<number | Held, bigint> = {
  names: /^(number|record)$/,
  speaks: { __proto__: null, Views: views } as never,
  read(said, _, { protocol }) {
    const { radices } = protocol as Viewing;
    const single = said.kind === "number";
    // A number is an attribute without a record.
    const { parts, tables } = single ? { parts: [{ answers: said, name: "0" }], tables: [["0"]] } : said;
    const names = parts!.map(({ name }) => `${name}`);
    const attributes = parts!.map(({ answers }) => attribute(answers));
    const sizes = attributes.map(({ size }) => size);
    // In the order of the attributes.
    const wanted = tables!.map((table) => names.filter((name) => table.includes(name)));
    expect(
      new Set(names).size === names.length &&
        names.every((name) => /^\P{Cs}{1,80}$/u.test(name)) &&
        new Set(wanted.flat()).size === names.length &&
        new Set(wanted.map(String).filter(Boolean)).size === wanted.length,
    );
    // Whether the views tell what is wanted protects nobody, and is checked where the question is made.
    expect(single ? radices.reduce((a, b) => a * b) >= sizes[0]! : (`${sizes}` as never) == radices && Math.max(...sizes) <= 4096);
    return {
      labels: null,
      says: single ? attributes[0]!.says : { kind: said.kind, parts: names.map((name, i) => ({ answers: attributes[i]!.says, name })), tables: wanted },
      value(answer) {
        const held: Held = single ? { 0: answer as number } : { ...(answer as Held) };
        const places = names.map((name, i) => attributes[i]!.value(held[name]));
        if (places.includes(undefined) || names.length in Object.keys(held)) return;
        return places.reduce((sum, place, i) => sum * BigInt(sizes[i]!) + BigInt(place!), 0n);
      },
    };
  },
  /** All fields by the names of their attributes; that of a number has none. */
  asked(form) {
    const held: Held = {};
    form.querySelectorAll<HTMLInputElement>("select,[type=number],[type=radio]:checked").forEach(({ dataset, value, valueAsNumber }) => {
      held[dataset["name"] ?? ""] = isNaN(valueAsNumber) ? value : valueAsNumber;
    });
    return (held[""] as number) ?? held;
  },
  written,
};
