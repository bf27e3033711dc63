/** Base64 of RFC 4648 section 4, padded. Example: the bytes 0xfb 0xff are `+/8=`. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

/**
 * The bytes of a padded base64 text of `length` bytes; undefined for any other text. Accepts one text for each value only:
 * `+/8=` but not `+/9=`, whose surplus bits differ.
 */
export function fromBase64(text: string, length?: number): Uint8Array<ArrayBuffer> | undefined {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined
  let binary: string
  try {
    binary = atob(text)
  } catch {
    return undefined
  }
  if (length !== undefined && binary.length !== length) return undefined
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  return toBase64(bytes) === text ? bytes : undefined
}
