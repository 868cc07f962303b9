/** What the client refuses. It never contains an answer. A failing network throws the platform's own error. */
export class DeniableError extends Error {
  override name = "DeniableError";
}

/** Throw unless a condition holds; most conditions are about questions. */
export const expect = (holds: unknown, otherwise = "cannot answer this question"): void => {
  if (!holds) throw new DeniableError(otherwise);
};
