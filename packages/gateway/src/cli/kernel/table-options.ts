import { ENCODINGS, findEncoding } from '@dealer-esim/lib/table-files/decode-text.ts'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { parseColumnMap } from '@dealer-esim/lib/table-files/table-columns.ts'
import type { Command } from 'commander'
import { UsageError } from './cli-failure.ts'

export interface TableOptions {
  encoding?: string
  map?: string
}

/**
 * What a person states about a CSV file. Without these options, a file that can be read in several ways is refused with a
 * question.
 */
export function withTableOptions(command: Command): Command {
  return command
    .option('--encoding <name>', 'of a CSV file that is not in UTF-8, such as windows-1252')
    .option('--map <columns>', 'which column of the file is which, such as iccid=SIM,ac=Code; others are not read')
}

/** @throws UsageError */
export function tableAnswers({ encoding, map }: TableOptions): TableAnswers {
  const known = encoding === undefined ? undefined : findEncoding(encoding)
  if (encoding !== undefined && known === undefined) {
    throw new UsageError(`--encoding ${encoding} is unknown. Use one of ${ENCODINGS.join(', ')}.`)
  }
  const columnMap = map === undefined ? undefined : parseColumnMap(map)
  if (map !== undefined && columnMap === undefined) {
    throw new UsageError(
      '--map must have the form iccid=SIM,ac=Code: each of our columns with the matching column of the file.',
    )
  }
  return { encoding: known, columnMap }
}
