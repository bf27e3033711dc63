/**
 * What a check of the books finds, in English; the names in braces stand for the values of a finding. The console has the same texts in
 * each of its languages.
 */
export const FINDINGS = {
  noKey: 'The gateway has no key that signs checkpoints.',
  unknownKey: 'The checkpoint is not signed by a key that follows from the one seen first.',
  lastUntrusted: 'The last checkpoint is not signed by a key that is trusted.',
  otherLedger: 'The ledger is called {now}; it was {before}.',
  noProof: 'There is no proof between the checkpoint of {now} entries and the one of {before} entries that you know.',
  proofFails:
    'The proof between the checkpoint of {now} entries and the one of {before} entries that you know does not hold: an entry of then was changed or removed.',
  notBooks: 'This is not a books file. Choose one that was downloaded from “Check my books”.',
  cutOff: 'The file ends after entry {last}, but should contain entries up to {to}. Download it again.',
  changed: 'Entry {entryNo} was changed after it was hashed.',
  unproven: 'Entry {entryNo} is in the file, but the proof ends before it.',
  otherRoot:
    'The entries {from} to {to} do not lead to the root of the checkpoint of {count} entries: they are not the ones that it covers.',
  earlierUntrusted: 'The earlier checkpoint is not signed by a key that is trusted.',
  earlierElsewhere: 'The earlier checkpoint is one of {origin}.',
  earlierLonger: 'The earlier checkpoint covers the entries 1 to {count}. Choose a file that contains them all.',
  earlierDiffers: 'The entries 1 to {count} are not those of the earlier checkpoint.',
  skipped: 'Entry {entryNo} is missing: {next} comes next.',
  wrongBalance: 'Entry {entryNo} records the balance {balance}, but {follows} follows from the entries.',
  missing: 'Entry {entryNo} is missing, but the checkpoint covers {count} entries.',
  notInLedger: 'Line {line} of your list, {transactionId}, is not in the ledger.',
  twiceInList: 'Line {line} of your list repeats {transactionId} from line {first}. Keep only one of the two lines.',
  otherAmount: 'Entry {entryNo} debits {theirs} for {transactionId}; line {line} of your list has {ours}.',
  notInList: 'Entry {entryNo} debits {transactionId}, which your list does not have.',
  notLastAudits: 'Entry {entryNo} is not the one that the last audit saw.',
  gone: 'Entry {entryNo} was there at the last audit, and is gone.',
  auditRoot:
    'The entries do not lead to the root of the checkpoint of {count} entries: one was changed after it was hashed.',
  listColumns: '{file} needs a first line with the columns transactionId and amount.',
  listLine: 'Line {line} of {file} has no transactionId, or no amount such as 45000 or 4.50.',
  listQuote:
    'Line {line} of {file} has a quotation mark without a matching closing one. Add the missing one, or remove this one.',
} as const

export type FindingId = keyof typeof FINDINGS

/** Only the dealer's own list of orders differs: the ledger is as it was signed. */
export const LIST_FINDINGS: ReadonlySet<FindingId> = new Set(['notInLedger', 'twiceInList', 'otherAmount', 'notInList'])

/** Amounts are formatted, such as `4.50`. */
export type FindingValues = Record<string, string | number>

/** What a check found. Of several differences, the one of the first entry. */
export interface Finding {
  id: FindingId
  values: FindingValues
  /** The first entry that differs; null: it is not about one entry. */
  entryNo: string | null
  message: string
}

/** @param values `entryNo`, if it has one, is the first entry that differs */
export function findingOf(id: FindingId, values: FindingValues & { entryNo?: string } = {}): Finding {
  return { id, values, entryNo: values.entryNo ?? null, message: inEnglish(id, values) }
}

/** A dealer's list of orders cannot be read. The message says where and why. */
export class MalformedOrders extends Error {
  override readonly name = 'MalformedOrders'
  readonly id: FindingId
  readonly values: FindingValues

  constructor(id: FindingId, values: FindingValues) {
    super(inEnglish(id, values))
    this.id = id
    this.values = values
  }
}

function inEnglish(id: FindingId, values: FindingValues): string {
  return FINDINGS[id].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name]))
}
