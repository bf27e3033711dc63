/** A violation of one of the ledger's rules. */
export interface LedgerFault {
  tenantId: string
  kind: FaultKind
  /** The fault, with its figures. */
  message: string
}

/**
 * BALANCE  the wallet's balance is not the sum of its transfers, or its version is not their number
 * GAP      a version is missing, or was used twice
 * CHAIN    a balance_after does not follow from the previous one
 * TIME     a transfer is older than the previous one
 * ACCOUNTS a transfer is not between the wallet and the account of its kind: the accounts do not sum to zero
 * ORDER    an order without exactly one debit of its amount, or a debit without its order
 * REFUND   a refund that is not owed or not of the item's price, or an order's refunds that do not add up
 * BOOKS    an entry, a stored hash or a kept checkpoint of the tree that does not agree with the others
 * WALLET   a tenant without a wallet, or movements and orders without one
 */
export type FaultKind = 'BALANCE' | 'GAP' | 'CHAIN' | 'TIME' | 'ACCOUNTS' | 'ORDER' | 'REFUND' | 'BOOKS' | 'WALLET'

/** The verification of one tenant. `report` counts a fault and passes it on. */
export interface Verification {
  tenantId: string
  pageRows: number
  report(kind: FaultKind, message: string): void
  /** @throws if the verification was aborted */
  throwIfAborted(): void
}
