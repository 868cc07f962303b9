/** Read and answer questions that were made to hurt, in Node and in a browser alike. */

/** An answer to a question for a build of the client. */
const answer = (build, label, text) => {
  if (build === "choices") return [label];
  if (build !== "views") return label;
  const { parts } = JSON.parse(text).answers;
  return parts ? Object.fromEntries(parts.map(({ name, answers }) => [name, answers.labels?.[0] ?? 7])) : 7;
};

/**
 * Return for each question whether a build of the client answered it, why not, and how many
 * milliseconds that took.
 */
export const face = async ({ DeniableError, parse }, questions, build) => {
  const found = [];
  for (const { text, named } of questions) {
    const start = performance.now();
    let why = "";
    try {
      const { labels, privatize } = await parse(text, named);
      await privatize(answer(build, labels?.[0] ?? "any text", text));
    } catch (error) {
      why = `${error}`;
      if (!(error instanceof DeniableError)) why = `not refused but broken: ${why}`;
    }
    found.push({ why, milliseconds: performance.now() - start });
  }
  return found;
};
