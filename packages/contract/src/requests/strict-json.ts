import { JSON_DEPTH_MAX } from '#limits.ts'

/** `reason` is a sentence for `data.details`. */
export type StrictJson = { ok: true; value: Record<string, unknown> } | { ok: false; reason: string }

/**
 * Parses one JSON object in UTF-8. Rejects texts that two parsers could read differently (duplicate members, invalid
 * UTF-8, a byte-order mark), nesting deeper than 8, an empty body and anything but an object. Depth includes the outer
 * object.
 *
 * JSON.parse keeps the last of duplicate members, so duplicates are found by counting: if the text has more colons outside
 * strings than its value has members, one member appears twice, however it is escaped. One scan of the bytes counts colons
 * and depth; the rest is native code.
 */
export function parseStrictJson(bytes: Uint8Array): StrictJson {
  if (bytes.length === 0) return refuse('The body is empty: send a JSON object, at least {}.')
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return refuse('The body starts with a byte-order mark: send UTF-8 without one.')
  }
  const members = countMembers(bytes)
  if (members === TOO_DEEP) return refuse(`The body is nested more than ${JSON_DEPTH_MAX} levels deep: flatten it.`)
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return refuse('The body is not valid UTF-8: encode it as UTF-8.')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse('The body is not valid JSON: correct its syntax.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('The body is not an object: send a JSON object.')
  }
  if (membersOf(value) !== members) return refuse('A member appears twice in one object: send each member once.')
  return { ok: true, value: value as Record<string, unknown> }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const TOO_DEEP = -1

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** Counts colons outside strings, or returns TOO_DEEP. Valid only for valid JSON, which JSON.parse then checks. */
function countMembers(bytes: Uint8Array): number {
  let members = 0
  let depth = 0
  const end = bytes.length
  for (let i = 0; i < end; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      for (i++; i < end && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
    } else if (byte === COLON) {
      members++
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > JSON_DEPTH_MAX) return TOO_DEEP
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--
    }
  }
  return members
}

/** Counts the members of all nested objects; the recursion is at most JSON_DEPTH_MAX deep. */
function membersOf(value: object): number {
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value)
  let members = parts === value ? 0 : parts.length
  for (const part of parts) if (typeof part === 'object' && part !== null) members += membersOf(part)
  return members
}

function refuse(reason: string): StrictJson {
  return { ok: false, reason }
}
