/** What the client refuses. No error holds an answer; a failing network raises the platform's own. */
export class DeniableError extends Error {
  override name = "DeniableError";
}

/** Go on only if something holds; most of it is about questions. */
export const expect = (holds: unknown, otherwise = "cannot answer this question"): void => {
  if (!holds) throw new DeniableError(otherwise);
};
