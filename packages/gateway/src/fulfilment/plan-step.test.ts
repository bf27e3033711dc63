import { describe, expect, it } from 'vitest'
import type { CataloguePackage, Route } from '#catalogue/catalogue.ts'
import type { LockedItem } from '#orders/lock-orders.ts'
import { hasNextRoute } from './outcomes/apply-outcome.ts'
import { nextStep, onlyFrom } from './plan-step.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const LATER = new Date('2026-11-20T12:00:01Z')
const USD = { currencyCode: 'USD' }
const PRICE = 45_000n
const NONE = { missing: new Set<string>(), isInterrupted: () => false }

const route = (supplier: string, cost: bigint | null = null, costCurrency: string | null = 'USD'): Route => ({
  supplier,
  productCode: `${supplier}-1`,
  cost,
  costCurrency: cost === null ? null : costCurrency,
})
const bought = (routes: Route[], allowLoss = false) => ({ routes, allowLoss }) as unknown as CataloguePackage

function item(parts: Partial<LockedItem> = {}): LockedItem {
  return {
    itemNo: 1,
    itemStatus: 'WAITING',
    price: PRICE,
    routeNo: 0,
    supplier: null,
    productCode: null,
    cost: null,
    costCurrency: null,
    retryAt: null,
    inDoubtAt: null,
    failureReason: null,
    updatedAt: NOW,
    ...parts,
  } as LockedItem
}

/** The supplier to order from, or the reason for not ordering. */
function chosen(routes: Route[], parts: Partial<LockedItem> = {}, allowLoss = false): string {
  const step = nextStep(item(parts), USD, bought(routes, allowLoss), NONE, NOW)
  return step.do === 'order'
    ? `${step.route.supplier} at ${step.routeNo}`
    : step.do === 'refuse'
      ? step.message
      : step.do
}

describe('an eSIM’s route', () => {
  it('starts with the first supplier that the package lists', () => {
    expect(chosen([route('a', 30_000n), route('b', 10_000n)])).toBe('a at 0')
  })

  it('skips suppliers that cost more than the sale price, unless the package allows a loss', () => {
    const routes = [route('dear', PRICE + 1n), route('even', PRICE)]
    expect(chosen(routes)).toBe('even at 1')
    expect(chosen(routes, {}, true)).toBe('dear at 0')
    expect(chosen([route('dear', PRICE + 1n)])).toBe('no supplier offers it at this price')
  })

  it('does not skip a supplier whose cost is unknown or in another currency', () => {
    expect(chosen([route('unknown')])).toBe('unknown at 0')
    expect(chosen([route('yen', 9_000_000n, 'JPY')])).toBe('yen at 0')
  })

  it('skips a supplier that is paused or down while another supplier is available', () => {
    const routes = [route('down'), route('dear', PRICE + 1n), route('b')]
    const without = (...names: string[]) => ({
      missing: new Set<string>(),
      isInterrupted: (one: string) => names.includes(one),
    })
    const routeNoOf = (...names: string[]) => {
      const step = nextStep(item(), USD, bought(routes), without(...names), NOW)
      return step.do === 'order' ? step.routeNo : step.do
    }
    expect([routeNoOf(), routeNoOf('down'), routeNoOf('b'), routeNoOf('down', 'b')]).toEqual([0, 2, 0, 0])
    const asked = item({ supplier: 'down', productCode: 'D', routeNo: 0 })
    expect(nextStep(asked, USD, bought(routes), without('down'), NOW)).toMatchObject({ route: { supplier: 'down' } })
  })

  it('continues after a refusal, and ends with the message of that refusal', () => {
    const routes = [route('a'), route('b'), route('dear', PRICE + 1n)]
    expect(chosen(routes, { routeNo: 1, failureReason: 'a has none' })).toBe('b at 1')
    expect(chosen(routes, { routeNo: 2, failureReason: 'b has none' })).toBe('b has none')
    expect([0, 1, 2].map((routeNo) => hasNextRoute(item({ routeNo }), bought(routes)))).toEqual([true, true, false])
  })

  it('keeps the terms of the first order even if the catalogue has changed', () => {
    const asked = { supplier: 'a', productCode: 'OLD', cost: 1n, costCurrency: 'USD' }
    const step = nextStep(item(asked), USD, bought([route('b')]), NONE, NOW)
    expect(step).toMatchObject({ do: 'order', route: asked, routeNo: 0 })
  })

  it('is guarded by the sale price if the cost is comparable and losses are not allowed', () => {
    const guardOf = (cost: bigint | null, currency: string, allowLoss = false) => {
      const step = nextStep(item(), USD, bought([route('a', cost, currency)], allowLoss), NONE, NOW)
      return step.do === 'order' ? step.guard : step.do
    }
    expect(guardOf(30_000n, 'USD')).toEqual({ cost: 30_000n, salePrice: PRICE, currencyCode: 'USD' })
    expect([guardOf(null, 'USD'), guardOf(30_000n, 'JPY'), guardOf(30_000n, 'USD', true)]).toEqual(
      Array(3).fill(undefined),
    )
  })

  it('does not exist without a supplier or without the package', () => {
    expect(chosen([])).toBe('no supplier offers it')
    expect(nextStep(item(), USD, undefined, NONE, NOW)).toEqual({ do: 'refuse', message: 'no supplier offers it' })
  })
})

describe('an item that is', () => {
  const asked = { supplier: 'a', productCode: 'A' }
  const step = (parts: Partial<LockedItem>) =>
    nextStep(item({ ...asked, ...parts }), USD, bought([route('a')]), NONE, NOW).do

  it.each([
    ['WAITING, for later', { itemStatus: 'WAITING', retryAt: LATER }, 'wait'],
    ['WAITING, for now', { itemStatus: 'WAITING', retryAt: NOW }, 'order'],
    ['ASKED by a worker that has stopped: never bought again', { itemStatus: 'ASKED' }, 'query'],
    ['UNKNOWN, for later', { itemStatus: 'UNKNOWN', retryAt: LATER }, 'wait'],
    ['UNKNOWN, for now: never bought again', { itemStatus: 'UNKNOWN', retryAt: NOW }, 'query'],
    [
      'under REVIEW in doubt, for now: never bought again',
      { itemStatus: 'REVIEW', retryAt: NOW, inDoubtAt: NOW },
      'query',
    ],
    ['under REVIEW in doubt, for later', { itemStatus: 'REVIEW', retryAt: LATER, inDoubtAt: NOW }, 'wait'],
    [
      'under REVIEW in doubt, and the worker that retried it has stopped',
      { itemStatus: 'REVIEW', inDoubtAt: NOW },
      'query',
    ],
    ['under REVIEW and not bought, for now', { itemStatus: 'REVIEW', retryAt: NOW }, 'order'],
    ['under REVIEW and not bought, for later', { itemStatus: 'REVIEW', retryAt: LATER }, 'wait'],
    ['under REVIEW and never ordered, for now', { itemStatus: 'REVIEW', retryAt: NOW, supplier: null }, 'order'],
    ['under REVIEW, for an operator to resolve', { itemStatus: 'REVIEW' }, 'nothing'],
    [
      'under REVIEW without a supplier: refunded by operators only',
      { itemStatus: 'REVIEW', retryAt: NOW, supplier: null, routeNo: 1 },
      'nothing',
    ],
    ['DELIVERED', { itemStatus: 'DELIVERED' }, 'nothing'],
    ['REFUSED', { itemStatus: 'REFUSED' }, 'nothing'],
    ['CANCELLED', { itemStatus: 'CANCELLED' }, 'nothing'],
  ] as const)('%s', (_, parts, does) => {
    expect(step(parts)).toBe(does)
  })
})

describe('an item with times written by a fast clock', () => {
  const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
  const stepOf = (parts: Partial<LockedItem>) => nextStep(item(parts), USD, bought([route('a')]), NONE, NOW)

  it('waits no longer than the longest retry delay', () => {
    expect(stepOf({ retryAt: at(70) }).do).toBe('wait')
    expect(stepOf({ retryAt: at(71) }).do).toBe('order')
    expect(stepOf({ itemStatus: 'UNKNOWN', supplier: 'a', retryAt: at(86_400) }).do).toBe('query')
  })

  it('under review waits no longer than it has been open', () => {
    const reviewed = { itemStatus: 'REVIEW', supplier: 'a', inDoubtAt: at(-900), requestedAt: at(-900) } as const
    expect(stepOf({ ...reviewed, retryAt: at(900) }).do).toBe('wait')
    expect(stepOf({ ...reviewed, retryAt: at(3_600) }).do).toBe('query')
  })

  it('is in doubt from the current time, not from a time in the future', () => {
    expect(stepOf({ itemStatus: 'ASKED', supplier: 'a', inDoubtAt: at(3_600) })).toMatchObject({ inDoubtAt: NOW })
    expect(stepOf({ itemStatus: 'ASKED', supplier: 'a', inDoubtAt: at(-10) })).toMatchObject({ inDoubtAt: at(-10) })
  })
})

describe('a top-up', () => {
  it('is bought only from the eSIM’s supplier', () => {
    const topUp = bought([route('first'), route('own', 50_000n), route('own')], true)
    const step = nextStep(item(), USD, onlyFrom('own', topUp), NONE, NOW)
    expect(step).toMatchObject({ do: 'order', route: { supplier: 'own', cost: 50_000n } })
    expect(nextStep(item(), USD, onlyFrom('other', topUp), NONE, NOW).do).toBe('refuse')
  })
})

describe('a day pass', () => {
  it('is guarded by the sale price of one day', () => {
    const order = { ...USD, periodNum: 5 }
    const step = nextStep(item(), order, bought([route('dear', 9_001n), route('cheap', 9_000n)]), NONE, NOW)
    expect(step).toMatchObject({ do: 'order', route: { supplier: 'cheap' }, guard: { salePrice: 9_000n } })
  })
})
