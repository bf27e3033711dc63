import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Wallet } from './lock-wallets.ts'

/** A wallet as left by this node's latest transaction. It is not locked, so it may have changed since. */
export interface CachedWallet extends Wallet {
  /** The WALLET_ROW_HASH of the row. A statement that relies on the cache compares it under the lock. */
  rowHash: string
}

export interface WalletCache {
  /**
   * Removes and returns these wallets, in the given order. If any of them is not cached, removes none and returns
   * undefined.
   */
  take(tenantIds: readonly string[]): CachedWallet[] | undefined
  /** Stores wallets after the commit that changed them. */
  put(wallets: readonly CachedWallet[]): void
  /**
   * Called if the cached rows were outdated. These wallets are not cached for a while, because a failed attempt costs time.
   */
  markOutdated(tenantIds: readonly string[]): void
}

/** They take a few hundred bytes each. */
const WALLETS_MAX = 10_000
/** If several nodes serve one dealer, each makes at most one failed attempt in this time. */
const PAUSE_MS = 1_000

export function createWalletCache(clock: Pick<Clock, 'monotonic'>): WalletCache {
  const wallets = new Map<string, CachedWallet>()
  const bypassedUntil = new Map<string, number>()
  return {
    take(tenantIds) {
      const found: CachedWallet[] = []
      for (const tenantId of tenantIds) {
        const wallet = wallets.get(tenantId)
        if (!wallet) return undefined
        found.push(wallet)
      }
      for (const tenantId of tenantIds) wallets.delete(tenantId)
      return found
    },
    put(changed) {
      for (const wallet of changed) {
        if (clock.monotonic() < (bypassedUntil.get(wallet.tenantId) ?? Number.NEGATIVE_INFINITY)) continue
        bypassedUntil.delete(wallet.tenantId)
        wallets.delete(wallet.tenantId)
        wallets.set(wallet.tenantId, wallet)
      }
      dropOldest(wallets)
    },
    markOutdated(tenantIds) {
      for (const tenantId of tenantIds) {
        bypassedUntil.delete(tenantId)
        bypassedUntil.set(tenantId, clock.monotonic() + PAUSE_MS)
      }
      dropOldest(bypassedUntil)
    },
  }
}

function dropOldest(map: Map<string, unknown>): void {
  for (const oldest of map.keys()) {
    if (map.size <= WALLETS_MAX) return
    map.delete(oldest)
  }
}
