/** Read and answer questions that were made to hurt, in Node and in a browser alike. */

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
      const answer = labels?.[0] ?? "any text";
      await privatize(build === "choices" ? [answer] : answer);
    } catch (error) {
      why = `${error}`;
      if (!(error instanceof DeniableError)) why = `not refused but broken: ${why}`;
    }
    found.push({ why, milliseconds: performance.now() - start });
  }
  return found;
};
