export type DigestMistakeId = 'sha1' | 'sha512' | 'plainHash' | 'base64'

export interface GivenDigest {
  hex: string
  /** How it may have been made: the right way first. */
  made: DigestKind[]
}

export interface DigestKind {
  /** As Web Crypto calls it. */
  hash: 'SHA-1' | 'SHA-256' | 'SHA-512'
  /** By HMAC; else it is the plain hash of the text with the secret behind it. */
  keyed: boolean
  mistakes: DigestMistakeId[]
}

/** What a signature can be by its form: hex in either case or Base64 in either alphabet, of a length that some hash has. */
export function usualDigests(signature: string): GivenDigest | undefined {
  const text = signature.trim()
  // Hex first: 64 digits of it could be Base64 of something, too.
  const kinds = /^[0-9a-f]+$/i.test(text) ? KINDS[text.length / 2] : undefined
  if (kinds) return { hex: text.toLowerCase(), made: kinds }
  const bytes = fromBase64(text)
  const encoded = bytes && KINDS[bytes.length]
  return (
    encoded && {
      hex: Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''),
      made: encoded.map((kind) => ({ ...kind, mistakes: [...kind.mistakes, 'base64'] })),
    }
  )
}

/** By their bytes. */
const KINDS: Record<number, DigestKind[]> = {
  20: [{ hash: 'SHA-1', keyed: true, mistakes: ['sha1'] }],
  32: [
    { hash: 'SHA-256', keyed: true, mistakes: [] },
    { hash: 'SHA-256', keyed: false, mistakes: ['plainHash'] },
  ],
  64: [{ hash: 'SHA-512', keyed: true, mistakes: ['sha512'] }],
}

/** Padded or not; undefined for what is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
