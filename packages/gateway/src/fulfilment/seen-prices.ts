import { type SeenPrice, seePrice } from '../suppliers/prices.ts'
import type { Charge, Outcome } from '../suppliers/supplier.ts'
import type { Result } from './consequences.ts'
import type { FulfilmentDeps } from './deps.ts'

/**
 * Notes at which prices suppliers sell now. Beside the orders, not with them: no money waits for it, and what fails here is
 * seen again with the next purchase. A question tells of a purchase that may be long past, so that it says nothing of today.
 */
export async function seePrices(deps: Pick<FulfilmentDeps, 'db' | 'log'>, results: readonly Result[]): Promise<void> {
  for (const { attempt, outcome } of results) {
    const price = priceIn(outcome)
    if (attempt?.operation !== 'ORDER' || price === undefined) continue
    const { supplied, productCode, startedAt: seenAt } = attempt
    const seen: SeenPrice = { supplier: supplied.supplier.name, productCode, price, seenAt }
    await seePrice(deps.db, seen).catch((error) =>
      deps.log.warn({ err: error, supplier: seen.supplier, productCode }, 'a price could not be noted'),
    )
  }
}

function priceIn(outcome: Outcome): Charge | undefined {
  switch (outcome.kind) {
    case 'delivered':
      return outcome.esim.charged
    case 'unknown':
      return outcome.charged
    case 'refused':
      return outcome.asks
    case 'retry':
      return undefined
    default:
      return outcome satisfies never
  }
}
