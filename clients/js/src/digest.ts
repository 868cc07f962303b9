/** The SHA-256 of text. */
export const sha256 = async (text: string, { subtle }: Crypto): Promise<Uint8Array> =>
  new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(text)));
