import type { StatementEntry } from '#schemas/accounts.ts'

/**
 * An entry of `account/statement`, as far as its leaf contains it. Members that `account/statement` gains later are not in the leaf,
 * because a leaf never changes.
 */
export type LeafEntry = Pick<
  StatementEntry,
  | ('actionNo' | 'amount' | 'balanceAfter' | 'createTime' | 'currencyCode' | 'entryNo')
  | ('esimTranNo' | 'kind' | 'orderNo' | 'reference' | 'transactionId')
>

/**
 * The text of an entry's leaf in canonical JSON (RFC 8785): members sorted, no spaces, null members included. Example:
 *
 *     {"actionNo":null,"amount":-45000,"balanceAfter":955000,"createTime":"2026-11-20T13:28:09.000Z","currencyCode":"USD",…}
 *
 * JSON.stringify writes strings and safe integers as RFC 8785 does (§3.2.2); an entry has no other values.
 * @throws TypeError for an entry without one of the members
 */
export function leafText(entry: LeafEntry): string {
  const { actionNo, amount, balanceAfter, createTime, currencyCode, entryNo, esimTranNo } = entry
  const { kind, orderNo, reference, transactionId } = entry
  // biome-ignore format: one literal in the order of the leaf. With spreads it takes five times as long.
  const leaf: LeafEntry = { actionNo, amount, balanceAfter, createTime, currencyCode, entryNo, esimTranNo, kind, orderNo, reference, transactionId }
  for (const member in leaf) {
    if (leaf[member as keyof LeafEntry] === undefined)
      throw new TypeError(`The entry has no ${member}. Pass it as account/statement returned it.`)
  }
  return JSON.stringify(leaf)
}
