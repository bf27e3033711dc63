/**
 * The first letters of the first and the last word, such as LT for Lotus Travel; for a single word, its first two letters.
 */
export function initials(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean)
  const [first = '?', last] = [words[0], words.length > 1 ? words.at(-1) : undefined]
  const letters = last === undefined ? [...first].slice(0, 2) : [[...first][0]!, [...last][0]!]
  return letters.join('').toUpperCase()
}

/** One of a few tints. The same name always gets the same tint. */
export function tintOf(name: string): number {
  let sum = 0
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)!) % 997
  return sum % TINTS
}
const TINTS = 4
