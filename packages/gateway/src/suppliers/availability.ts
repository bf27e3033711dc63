import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { type LoopDeps, type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'

/**
 * How many eSIMs could be delivered now, according to the suppliers' stock counters. Advisory: up to a second old, but
 * every node knows within milliseconds that a product is sold out.
 */
export interface Availability {
  /** undefined: unknown, because at least one of the suppliers has no counter. */
  available(offer: { routes: readonly { supplier: string; productCode: string }[] }): number | undefined
  refresh(): Promise<void>
}

const POLL_MS = 1_000

export async function createAvailability(
  deps: LoopDeps & { db: Db; wake: Pick<Wakeups<'stock'>, 'on'>; pollMs?: number },
): Promise<Availability & Running> {
  let levels = new Map<string, number>()

  async function refresh(): Promise<void> {
    const rows = await deps.db.query<{ supplier: string; productCode: string; available: bigint }>({
      name: 'stock-levels',
      text: 'select supplier, product_code, available from stock_levels',
    })
    levels = new Map(rows.map((row) => [keyOf(row.supplier, row.productCode), Number(row.available)]))
  }

  await refresh()
  const loop = runLoop(deps, 'stock levels', deps.pollMs ?? POLL_MS, () => refresh())
  const unsubscribe = deps.wake.on('stock', () => loop.wake())
  return {
    refresh,
    available({ routes }) {
      let sum = 0
      for (const { supplier, productCode } of routes) {
        const level = levels.get(keyOf(supplier, productCode))
        if (level === undefined) return undefined
        sum += level
      }
      return routes.length === 0 ? undefined : sum
    },
    stop(deadlineMs) {
      unsubscribe()
      return loop.stop(deadlineMs)
    },
  }
}

function keyOf(supplier: string, productCode: string): string {
  return `${supplier} ${productCode}`
}
