/** Something in the ledger that cannot be. */
export interface LedgerFault {
  tenantId: string
  kind: FaultKind
  /** What is wrong, with the figures. */
  sentence: string
}

/**
 * BALANCE  the wallet's balance or version is not what its transfers make
 * GAP      a version is missing, or was used before
 * CHAIN    a balance_after does not follow from the one before
 * TIME     a transfer is older than the one before it
 * ACCOUNTS a transfer is not between the wallet and the account of its kind: the accounts do not sum to zero
 * ORDER    an order without exactly one debit of its amount, or a debit without its order
 * REFUND   a refund that is not owed or not of the item's price, or an order's refunds that do not add up
 * WALLET   a tenant without a wallet, or movements and orders without one
 */
export type FaultKind = 'BALANCE' | 'GAP' | 'CHAIN' | 'TIME' | 'ACCOUNTS' | 'ORDER' | 'REFUND' | 'WALLET'

/** What a check of one wallet is given. `report` counts and passes on. */
export interface Verification {
  tenantId: string
  pageSize: number
  report(kind: FaultKind, sentence: string): void
  /** @throws when the check was given up */
  goOn(): void
}
