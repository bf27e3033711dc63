/*
 * Replaces control characters and text-direction marks, because much of the output was written by dealers and receivers
 * (names, addresses, answers) and must not control the operator's terminal.
 */

const UNSAFE = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu
/** Unsafe characters that JSON.stringify does not escape. */
const UNESCAPED = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

export function printable(text: string): string {
  return text.replace(UNSAFE, ' ')
}

/** Escapes unsafe characters, so the document stays equivalent. */
export function printableJson(json: string): string {
  return json.replace(UNESCAPED, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
