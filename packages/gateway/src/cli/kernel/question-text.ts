import type { EncodingQuestion, FileQuestion } from '@dealer-esim/lib/table-files/unreadable-file.ts'

/** The question about a refused file, with the options that answer it. */
export function questionText(question: FileQuestion): string {
  if (question.kind === 'ENCODING') return encodingText(question)
  const unknown = question.headers.filter(({ column }) => column === null)
  const examples = unknown.map(({ header, example }) => `  ${header}${example === '' ? '' : `   such as ${example}`}`)
  return [
    'Use --map to say which of our columns these are, such as --map "NAME=HEADER,…". Columns that it leaves out are not read.',
    ...examples,
  ].join('\n')
}

const READINGS_SHOWN = 6

/** Encodings with identical results are shown together. */
function encodingText({ choices }: EncodingQuestion): string {
  const readings = new Map<string, string[]>()
  for (const { encoding, rows } of choices) {
    const text = rows.map((row) => `  ${row}`).join('\n')
    readings.set(text, [...(readings.get(text) ?? []), encoding])
  }
  const shown = [...readings].slice(0, READINGS_SHOWN)
  return shown.map(([text, encodings]) => `With --encoding ${encodings.join(' or ')} it reads:\n${text}`).join('\n')
}
