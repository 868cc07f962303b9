/**
 * Several answers: a set of labels, at most so many, in no order.
 *
 * A value is the places of its labels, ascending, and dummies for those that are missing. Of a larger
 * set the labels with the smallest keys stay, by a word that is drawn before the answer is looked at.
 */
import { expect } from "./errors.ts";
import { indexOf, type Kind, written } from "./kinds.ts";
import { polynomialSelection, type Points, setSelection } from "./protocols/sets.ts";
import { words } from "./words.ts";

/** SplitMix64, as Python has it. */
const mix = (z: bigint): bigint => {
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
};
const key = (word: bigint, item: number): bigint =>
  mix(BigInt.asUintN(64, mix(word) + BigInt(item + 1) * 0x9e3779b97f4a7c15n));

export const several: Kind<string[], Points> = {
  names: /^choices$/,
  speaks: { __proto__: null, PolynomialSelection: polynomialSelection, SetSelection: setSelection } as never,
  read({ at_most, cut, kind, labels }, _, { protocol }) {
    const index = indexOf(labels!);
    const d = labels!.length;
    expect(index.size === d && at_most === protocol.at_most && (cut === true || cut === false));
    return {
      labels,
      says: { at_most, cut, kind, labels: labels!.map(String) },
      value(answer, source) {
        const word = cut ? words(source(8))[0]! : 0n;
        if (!Array.isArray(answer)) return;
        let held = [...new Set(answer)].map((label) => index.get(label) ?? d);
        if (held.length < answer.length || held.includes(d) || !(cut || held.length <= at_most!)) return;
        const first = (a: number, b: number): number => (key(word, a) < key(word, b) ? -1 : 1);
        if (cut) held = held.sort(first).slice(0, at_most);
        held.sort((a, b) => a - b);
        return [...held, ...Array.from({ length: at_most! - held.length }, (_, i) => d + i)];
      },
    };
  },
  asked: (form) => Array.from(form.querySelectorAll<HTMLInputElement>(":checked:enabled"), ({ value }) => value),
  written,
  /** Let no more boxes be ticked than count, and say how many are. */
  prepare(form, says) {
    const most = (says as { at_most: number }).at_most;
    const count = (): void => {
      const boxes = form.querySelectorAll<HTMLInputElement>("[type=checkbox]");
      const ticked = form.querySelectorAll(":checked").length;
      boxes.forEach((box) => (box.disabled = !box.checked && ticked >= most));
      const shown = form.querySelector("output");
      if (shown) shown.value = `${ticked} / ${most}`;
    };
    form.addEventListener("change", count);
    count();
  },
};
