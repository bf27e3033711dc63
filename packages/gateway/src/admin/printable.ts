/*
 * Dealers and receivers write much of what operators look at: names, addresses, answers. None of it moves the cursor of the
 * terminal that shows it, sets its title, or turns its text around.
 */

const MOVES = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu
/** What JSON.stringify leaves as it is. */
const UNESCAPED = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

export function printable(text: string): string {
  return text.replace(MOVES, ' ')
}

/** The same document, in fewer signs. */
export function printableJson(json: string): string {
  return json.replace(UNESCAPED, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
