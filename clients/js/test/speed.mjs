/**
 * Print how long one report takes with each build of the client: node test/speed.mjs < QUESTIONS, a JSON
 * array of objects with `what`, `build`, `text`, `digest` and `answer`. `python -m benchmarks.browser` makes them.
 */
import { readFileSync } from "node:fs";
import { packaged } from "../build.mjs";

const found = [];
for (const { what, build, text, digest, answer } of JSON.parse(readFileSync(0, "utf8"))) {
  const { parse } = await import(packaged(build));
  const { privatize } = await parse(text, digest);
  const times = [];
  for (let i = 0; i < 220; i++) {
    const start = performance.now();
    await privatize(answer);
    times.push(performance.now() - start);
  }
  // After the first ones the code is compiled.
  times.splice(0, 20);
  times.sort((a, b) => a - b);
  found.push({ what, middle: times[100], p99: times[198] });
}
process.stdout.write(JSON.stringify(found));
