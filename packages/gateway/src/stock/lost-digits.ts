/** A spreadsheet keeps 15 digits of a number and replaces the rest with zeros. */
const KEPT_DIGITS = 15
/** One in a thousand sequential ICCIDs of 18 digits ends like this. */
const HONEST_SHARE = 0.01

interface LostDigitsFault {
  readonly row: number
  readonly column: 'iccid'
  readonly value: string
  readonly reason: string
}

interface LostDigits {
  /** All rows if the file must be refused. */
  readonly faults: readonly LostDigitsFault[]
  readonly count: number
  readonly warning?: string
}

/**
 * Finds ICCIDs that a spreadsheet has cut to 15 digits: in a file with several rows all of them end in zeros, which is not
 * a coincidence. A single row may be genuine, so it causes only a warning, as do a few rows among many.
 */
export function createDigitCheck(faultsMax = 50) {
  const ended: LostDigitsFault[] = []
  let rows = 0
  let count = 0
  return {
    add(row: number, iccid: string) {
      rows++
      if (!endsInZeros(iccid)) return
      count++
      if (ended.length < faultsMax) ended.push({ row, column: 'iccid', value: iccid, reason: REASON })
    },
    findLost(): LostDigits {
      if (rows > 1 && count === rows) return { faults: ended, count }
      if (count === 0 || (rows > 1 && (count === 1 || count < rows * HONEST_SHARE))) return { faults: [], count: 0 }
      const which =
        count === 1 ? `ICCID ${ended[0]!.value} ends` : `${count} of ${rows} ICCIDs, such as ${ended[0]!.value}, end`
      const warning = `${which} in zeros: a spreadsheet may have cut the last digits. Compare with the supplier’s list before you sell.`
      return { faults: [], count: 0, warning }
    },
  }
}

const REASON =
  'All ICCIDs of the file have only zeros after the 15th digit: a spreadsheet has cut them. Get the file again, and import it without opening it in a spreadsheet.'

export function endsInZeros(iccid: string): boolean {
  return iccid.length > KEPT_DIGITS && /^0+$/.test(iccid.slice(KEPT_DIGITS))
}
