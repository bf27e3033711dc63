const NO_PART_OF_A_LINE = /[\u0000-\u001f\u007f\p{Cs}]/u

/** @returns the text without space around it; undefined unless it is one line of so many characters */
export function oneLine(text: string, { min, max }: { min: number; max: number }): string | undefined {
  const line = text.trim()
  const { length } = [...line]
  return length >= min && length <= max && !NO_PART_OF_A_LINE.test(line) ? line : undefined
}
