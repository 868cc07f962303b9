/** Read and answer questions that were made to hurt, in Node and in a browser alike. */

/** Return for each question whether it was answered, why not, and how many milliseconds that took. */
export const face = async ({ DeniableError, parse }, questions) => {
  const found = [];
  for (const { text, named } of questions) {
    const start = performance.now();
    let why = "";
    try {
      const { labels, privatize } = await parse(text, named);
      await privatize(labels?.[0] ?? "any text");
    } catch (error) {
      why = `${error}`;
      if (!(error instanceof DeniableError)) why = `not refused but broken: ${why}`;
    }
    found.push({ why, milliseconds: performance.now() - start });
  }
  return found;
};
