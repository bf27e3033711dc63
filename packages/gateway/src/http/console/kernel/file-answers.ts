import { ENCODINGS, findEncoding } from '@dealer-esim/lib/table-files/decode-text.ts'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { headerKey } from '@dealer-esim/lib/table-files/table-columns.ts'
import Type from 'typebox'
import { invalidField } from '#catalogue/catalogue-checks.ts'

/** The body of an upload: a file's bytes. The validator passes them on, and the document describes them as text. */
export const file = () => Type.Unsafe<Uint8Array>(Type.String())

const MAP_LENGTH_MAX = 20_000

/** A person's answers to the question about a refused file, in the query. */
export const fileAnswers = {
  encoding: Type.Optional(Type.Enum(ENCODINGS, { description: 'Of a file that is not in UTF-8' })),
  map: Type.Optional(
    Type.String({
      maxLength: MAP_LENGTH_MAX,
      description: 'JSON: headers of the file and the columns that they are, such as {"SIM":"iccid"}',
    }),
  ),
}

/** @throws Refusal */
export function toAnswers({ encoding, map }: { encoding?: string; map?: string }): TableAnswers {
  return {
    encoding: encoding === undefined ? undefined : findEncoding(encoding),
    columnMap: map === undefined ? undefined : readMap(map),
  }
}

function readMap(text: string): Map<string, string> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    parsed = undefined
  }
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  const entries = isObject ? Object.entries(parsed as object) : []
  if (!isObject || entries.some(([, column]) => typeof column !== 'string')) {
    throw invalidField('map', 'The choice of columns could not be read. Choose the column for each header again.')
  }
  return new Map(entries.map(([header, column]) => [headerKey(header), column as string]))
}
