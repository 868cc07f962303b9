/** What the client refuses, and what it was given; a failing network raises the platform's own errors. */
export class DeniableError extends Error {
  override name = "DeniableError";
}

/** Refuse: say what was expected and what came instead. */
export const fail = (expected: string, got?: unknown): never => {
  throw new DeniableError(`expected ${expected}, got ${got}`.slice(0, 300));
};

/** Go on only if something holds. */
export const expect = (holds: boolean, expected: string, got?: unknown): void => {
  if (!holds) fail(expected, got);
};
