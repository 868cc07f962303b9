/** Print the size of the built file, gzipped, and how much each protocol adds to it. */
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { bundle } from "./build.mjs";

export const gzipped = (text) => gzipSync(text, { level: 9 }).length;

/** A plugin that leaves a module out. */
const without = (name) => ({
  name: "without",
  setup: ({ onLoad }) =>
    onLoad({ filter: new RegExp(`/${name}\\.ts$`) }, () => ({
      contents:
        "export const direct = 0, linear = () => 0, multiplyShift = 0, subset = 0, start = () => {};" +
        "export const OUE = 0, SUE = 0, THE = 0, UE = 0, unary = () => 0;",
      loader: "ts",
    })),
});

const PARTS = {
  "DE": "protocols/direct",
  "UE, SUE, OUE, THE": "protocols/unary",
  "LH, BLH, OLH and AffineSelection, over GF(g)": "protocols/linear",
  "LH, OpenLH by multiply-shift": "protocols/multiply_shift",
  "SubsetSelection": "protocols/subset",
  "the tag": "tag",
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = gzipped(await bundle());
  console.log(`${String(all).padStart(5)}  all`);
  for (const [what, name] of Object.entries(PARTS)) {
    const rest = gzipped(await bundle([without(name)]));
    console.log(`${String(all - rest).padStart(5)}  ${what}`);
  }
}
