import type { StatementEntry } from '#schemas/accounts.ts'

/**
 * The members of an entry that its leaf contains, in the order of RFC 8785. Members that `account/statement` gains later are
 * not in the leaf, because a leaf never changes.
 */
const LEAF_MEMBERS = [
  ...(['actionNo', 'amount', 'balanceAfter', 'createTime', 'currencyCode', 'entryNo'] as const),
  ...(['esimTranNo', 'kind', 'orderNo', 'reference', 'transactionId'] as const),
]

/** An entry of `account/statement`, as far as its leaf contains it. */
export type LeafEntry = Pick<StatementEntry, (typeof LEAF_MEMBERS)[number]>

/**
 * The text of an entry's leaf in canonical JSON (RFC 8785): members sorted, no spaces, null members included. Example:
 *
 *     {"actionNo":null,"amount":-45000,"balanceAfter":955000,"createTime":"2026-11-20T13:28:09.000Z","currencyCode":"USD",…}
 *
 * JSON.stringify writes strings and safe integers as RFC 8785 does (§3.2.2); an entry has no other values.
 * @throws TypeError for an entry without one of the members
 */
export function leafText(entry: LeafEntry): string {
  const missing = LEAF_MEMBERS.find((member) => entry[member] === undefined)
  if (missing) throw new TypeError(`The entry has no ${missing}. Pass it as account/statement returned it.`)
  const { actionNo, amount, balanceAfter, createTime, currencyCode, entryNo, esimTranNo } = entry
  const { kind, orderNo, reference, transactionId } = entry
  // biome-ignore format: one literal in the order of the leaf. With spreads it takes five times as long.
  const leaf = { actionNo, amount, balanceAfter, createTime, currencyCode, entryNo, esimTranNo, kind, orderNo, reference, transactionId }
  return JSON.stringify(leaf)
}
