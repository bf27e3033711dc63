import type { Clock } from '../../lib/clock.ts'
import type { Wallet } from './lock.ts'

/** A wallet as this node's latest transaction left it. Nobody holds its lock: it may have moved since. */
export interface CachedWallet extends Wallet {
  /** WALLET_ROW_HASH of its row: whoever writes on this memory compares it under the lock. */
  rowHash: string
}

export interface WalletCache {
  /** Takes these wallets out of the memory; undefined, and nothing is taken, unless all of them are in it. */
  take(tenantIds: readonly string[]): CachedWallet[] | undefined
  /** After the commit that left them so. */
  keep(wallets: readonly CachedWallet[]): void
  /** One of them had moved, or was not as expected: to go on guessing would cost more than it saves. */
  wasOutdated(tenantIds: readonly string[]): void
}

/** Some hundred bytes each. */
const WALLETS_MAX = 10_000
/** Where several nodes serve one dealer, each is wrong once in this time and asks first otherwise. */
const PAUSE_MS = 1_000

export function createWalletCache(clock: Pick<Clock, 'monotonic'>): WalletCache {
  const wallets = new Map<string, CachedWallet>()
  const untrustedUntil = new Map<string, number>()
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
    keep(kept) {
      for (const wallet of kept) {
        if (clock.monotonic() < (untrustedUntil.get(wallet.tenantId) ?? Number.NEGATIVE_INFINITY)) continue
        untrustedUntil.delete(wallet.tenantId)
        wallets.delete(wallet.tenantId)
        wallets.set(wallet.tenantId, wallet)
      }
      forgetOldest(wallets)
    },
    wasOutdated(tenantIds) {
      for (const tenantId of tenantIds) {
        untrustedUntil.delete(tenantId)
        untrustedUntil.set(tenantId, clock.monotonic() + PAUSE_MS)
      }
      forgetOldest(untrustedUntil)
    },
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  for (const oldest of map.keys()) {
    if (map.size <= WALLETS_MAX) return
    map.delete(oldest)
  }
}
