import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { productsOf as airaloProducts } from './airalo/products.ts'
import { readBalance as airaloBalance } from './airalo/reports.ts'
import { rowsOf } from './esim-access/decode.ts'
import { queryUsage } from './esim-access/esim-access.ts'
import { outcomeOfToppedUpRow } from './esim-access/outcome.ts'
import { currentPrice } from './esim-access/purchase.ts'
import { readBalance as esimGoBalance, productOf as esimGoProduct, readOrders } from './esim-go/lists.ts'
import { reportOn as esimGoReport } from './esim-go/reports.ts'
import { findProfile } from './gateway/actions.ts'
import { productOf as gatewayProduct } from './gateway/lists.ts'
import { outcomeOfOrder as outcomeAtGateway } from './gateway/outcome.ts'
import { LISTS } from './lists-of-answers.ts'
import { isObject } from './members.ts'
import { deliveredDetailsOf } from './mobimatter/decode.ts'
import { productOf as mobimatterProduct } from './mobimatter/lists.ts'
import { outcomeOfOrder as outcomeAtMobimatter } from './mobimatter/outcome.ts'
import { reportOn as mobimatterReport } from './mobimatter/reports.ts'
import type { BalanceOutcome, ReportOutcome, SupplierProduct, UnreadableEntry } from './supplier.ts'
import type { Unreadable } from './unreadable-entry.ts'
import { productOf as zenditProduct } from './zendit/lists.ts'
import { reportOn as zenditReport } from './zendit/reports.ts'

/* Unreadable parts of one order or one eSIM, at any position: all others are read, and these are reported. */

/** Reports whether the part of a name was read, and which parts were reported. */
interface Read {
  isRead: boolean
  named: readonly unknown[]
}

interface Parts {
  /** Where the adapters read them, as in lists-of-answers.ts. */
  reads: string[]
  part(name: string): unknown
  /** Values of members that make a part unreadable. */
  odd?: Record<string, unknown[]>
  /** They only describe: what is read of the others is true without them, so these are not reported. */
  isDescription?: true
  /** Reads the parts for one name. */
  read(parts: unknown[], name: string): Promise<Read>
}

const NAMES = ['A', 'B', 'C', 'D']
const TIME = '2026-11-25T12:00:00Z'
const iccidOf = (name: string) => `89999000000000000${name.charCodeAt(0)}`
const ESIM = { key: 'KEY', reference: 'R', iccid: iccidOf('A') } as never

const PARTS: Record<string, Parts> = {
  'the lines of an order at eSIM Go': {
    reads: ['esim-go/decode.ts: entriesOf(order)', 'esim-go/decode.ts: entriesOf(order) (2)'],
    part: (item) => ({ item }),
    odd: { item: [null, 7] },
    async read(lines, name) {
      const order = without(lines, ({ item }) => item !== name && NAMES.includes(String(item)))
      const pages = readOrders(
        { get: dated({ orders: [{ orderReference: 'R', order }], pageCount: 1 }) } as never,
        new Date(0),
      )
      const { value: page } = await pages.next()
      return { isRead: page.orders[0]?.bundle === name, named: page.unreadable }
    },
  },
  'the eSIMs of an order at another gateway': {
    reads: ['gateway/decode.ts: Array.isArray(profileList)'],
    part: (name) => ({ transactionId: 'KEY', iccid: iccidOf(name), smdpAddress: '', matchingId: '', ac: '' }),
    async read(parts, name) {
      const profileList = without(parts, ({ iccid }) => iccid !== iccidOf(name))
      const outcome = (list: unknown[]) => outcomeAtGateway({ transactionId: 'KEY', profileList: list } as never, 'KEY')
      const found = outcome(profileList)
      const alone = outcome(without(parts, () => true))
      return { isRead: found.kind === 'delivered', named: alone.kind === 'unknown' ? [alone.message] : [] }
    },
  },
  'the eSIMs that another gateway lists for an eSIM': {
    reads: ['gateway/actions.ts: Array.isArray(list)'],
    part: (name) => ({ transactionId: 'KEY', iccid: iccidOf(name) }),
    async read(profileList, name) {
      const profiles = async () => ({ profileList })
      const upstream = async (send: (client: object) => Promise<unknown>) => ({ value: await send({ profiles }) })
      const found = await findProfile(upstream as never, { key: 'KEY', iccid: iccidOf(name) } as never)
      if ('unreadable' in found) throw new Error(found.unreadable)
      return { isRead: found.profile !== undefined, named: found.oddEntries }
    },
  },
  'the usage of eSIM Access': {
    reads: ["esim-access/esim-access.ts: entriesIn(answer, 'esimUsageList')"],
    part: (esimTranNo) => ({ esimTranNo, dataUsage: 1 }),
    async read(esimUsageList, name) {
      const call = async () => ({ kind: 'done' as const, obj: { esimUsageList } })
      const { usage, unreadable: named = [] } = await queryUsage(call, name)
      return { isRead: usage === 1n, named }
    },
  },
  'the bundles of an eSIM at eSIM Go': reported(
    ["esim-go/reports.ts: listOf(answer, 'bundles')"],
    (name) => ({ name, assignments: [{ bundleState: 'active', startTime: startOf(name), endTime: TIME }] }),
    (bundles) => esimGoReport({ get: dated({ bundles }) } as never, ESIM),
  ),
  'the assignments of a bundle at eSIM Go': reported(
    ['esim-go/reports.ts: entriesOf(bundle.assignments)', 'esim-go/reports.ts: entriesOf(assignments)'],
    (name) => ({ bundleState: 'active', startTime: startOf(name), endTime: TIME }),
    (assignments) => esimGoReport({ get: dated({ bundles: [{ name: 'B', assignments }] }) } as never, ESIM),
  ),
  'the plans of an eSIM at Zendit': reported(
    ["zendit/reports.ts: listOf(answer, 'list')"],
    (name) => ({ startAt: startOf(name), endAt: TIME }),
    (list) => zenditReport({ get: dated({ list }) } as never, ESIM),
  ),
  'the packages of an eSIM at MobiMatter': reported(
    ['mobimatter/reports.ts: entriesOf(info.packages)', 'mobimatter/reports.ts: entriesOf(packages)'],
    (name) => ({ activationDate: startOf(name), expirationDate: TIME }),
    (packages) =>
      mobimatterReport(
        { client: { info: dated({ result: { packages } }) }, store: { claimInfo: async () => true } } as never,
        ESIM,
      ),
  ),
  'the packages among which eSIM Access states a price': {
    reads: ["esim-access/purchase.ts: entriesIn(answer, 'packageList')"],
    part: (packageCode) => ({ packageCode, price: 1 }),
    odd: { packageCode: [null, 7] },
    async read(packageList, name) {
      const call = async () => ({ kind: 'done' as const, obj: { packageList } })
      const priceOf = (productCode: string) => currentPrice(call, { productCode, topUp: ESIM })
      const missing = await priceOf('MISSING')
      const named = typeof missing === 'object' && missing.kind === 'retry' ? [missing.message] : []
      return { isRead: (await priceOf(name)) === 1n, named }
    },
  },
  'the packages of an eSIM at eSIM Access': {
    reads: ['esim-access/decode.ts: entriesOf(packageList)'],
    part: (transactionId) => ({ transactionId }),
    odd: { transactionId: [null, 7] },
    async read(packageList, name) {
      const [row] = rowsOf([{ packageList }])
      const missing = outcomeOfToppedUpRow(row!, 'MISSING')
      const named = missing.kind === 'unknown' ? [missing.message] : []
      return { isRead: outcomeOfToppedUpRow(row!, name).kind === 'toppedUp', named }
    },
  },
  'the details of an order at MobiMatter': {
    reads: ['mobimatter/decode.ts: entriesOf(list)', 'mobimatter/decode.ts: entriesOf(orderLineItem.lineItemDetails)'],
    part: (name) => ({ name, value: '1' }),
    odd: { name: [null, 7] },
    async read(lineItemDetails, name) {
      const order = { orderId: 'R', orderState: 'Failed', orderLineItem: { lineItemDetails } }
      const outcome = outcomeAtMobimatter(order, 'R', {})
      const named = outcome.kind === 'unknown' ? [outcome.message] : []
      return { isRead: deliveredDetailsOf(order).get(name) === '1', named }
    },
  },
  'the countries of a product at MobiMatter': described(
    'mobimatter/lists.ts: entriesOf(product.countries)',
    codeOf,
    (countries) => codesIn(mobimatterProduct({ ...MOBIMATTER, countries, productDetails: detailsOf({}) })),
  ),
  'the texts about a product at MobiMatter': described(
    'mobimatter/lists.ts: entriesOf(items)',
    (name) => `Usage limit ${name}`,
    (items, name) => {
      const only = items.filter((item) => typeof item !== 'string' || item === `Usage limit ${name}`)
      const productDetails = detailsOf({ PLAN_DETAILS: JSON.stringify({ items: only }) })
      const product = mobimatterProduct({ ...MOBIMATTER, productDetails }) as SupplierProduct
      return [product.fupPolicy]
    },
  ),
  'the coverages of an operator at Airalo': described(
    'airalo/products.ts: entriesOf(coverages)',
    (name) => ({ code: codeOf(name) }),
    (coverages) => airaloCodesIn({ coverages }),
    codeOf,
  ),
  'the countries of an operator at Airalo': described(
    'airalo/products.ts: entriesOf(countries)',
    (name) => ({ country_code: codeOf(name) }),
    (countries) => airaloCodesIn({ countries }),
    codeOf,
  ),
  'the balances at Airalo': described(
    'airalo/reports.ts: entriesOf(balances)',
    (name) => ({ amount: 1, currency: `US${name}` }),
    async (balances, name) => [
      currencyIn(await airaloBalance({ get: dated({ data: { balances: only(balances, name) } }) } as never)),
    ],
    (name) => `US${name}`,
  ),
  'the organisations of a key at eSIM Go': described(
    "esim-go/lists.ts: listOf(answer, 'organisations')",
    (name) => ({ balance: 1, currency: `US${name}` }),
    async (organisations, name) => [
      currencyIn(await esimGoBalance({ get: dated({ organisations: only(organisations, name) }) } as never)),
    ],
    (name) => `US${name}`,
  ),
  'the countries of a bundle at eSIM Go': described(
    'esim-go/lists.ts: entriesOf(countries)',
    (name) => ({ iso: codeOf(name) }),
    (countries) => codesIn(esimGoProduct({ ...ESIM_GO, countries }, 'USD')),
    codeOf,
  ),
  'the allowances of a bundle at eSIM Go': described(
    'esim-go/lists.ts: entriesOf(allowances)',
    (name) => ({ type: name === 'A' ? 'VOICE' : name, amount: 7 }),
    (allowances, name) => {
      const { included } = esimGoProduct({ ...ESIM_GO, allowances }, 'USD') as SupplierProduct
      return [included?.includes('7 minutes') ? name : undefined]
    },
    (name) => name,
  ),
  'the countries of an offer at Zendit': described(
    'zendit/lists.ts: entriesOf(roaming)',
    (name) => ({ country: codeOf(name) }),
    (roaming) => codesIn(zenditProduct({ ...ZENDIT, roaming })),
    codeOf,
  ),
  'the regions of an offer at Zendit': described(
    'zendit/lists.ts: entriesOf(regions)',
    (name) => `Region ${name}`,
    (regions) => codesIn(zenditProduct({ ...ZENDIT, regions })),
    (name) => `!RG-Region ${name}`,
  ),
  'the places of a package at another gateway': described(
    'gateway/lists.ts: Array.isArray(locationCodes)',
    codeOf,
    (locationCodes) => codesIn(gatewayProduct({ ...GATEWAY, locationCodes } as never)),
  ),
}

/** A report is the sum of its parts: its start is that of the earliest one. */
function reported(reads: string[], part: Parts['part'], reportOn: (parts: unknown[]) => Promise<ReportOutcome>): Parts {
  return {
    ...{ reads, part },
    async read(parts, name) {
      const earlier = NAMES.slice(0, NAMES.indexOf(name)).map((one) => JSON.stringify(part(one)))
      const outcome = await reportOn(without(parts, (one) => earlier.includes(JSON.stringify(one))))
      const start = outcome.kind === 'reported' ? outcome.report.activateTime : undefined
      const named: UnreadableEntry[] = outcome.unreadable ?? []
      return { isRead: start?.getTime() === Date.parse(startOf(name)), named }
    },
  }
}

type Values = (string | null | undefined)[]

/** Parts of a description. `valuesOf` returns the values that were read, among which is `shownAs` of each name. */
function described(
  reads: string,
  part: Parts['part'],
  valuesOf: (parts: unknown[], name: string) => Values | Promise<Values>,
  shownAs: (name: string) => unknown = part,
): Parts {
  return {
    ...{ reads: [reads], part, isDescription: true },
    read: async (parts, name) => ({
      isRead: (await valuesOf(parts, name)).includes(shownAs(name) as string),
      named: [],
    }),
  }
}

/** The code of a country for each name. */
function codeOf(name: string): string {
  return `A${name}`
}

function codesIn(product: SupplierProduct | Unreadable | undefined): string[] {
  return (product as SupplierProduct).countries
}

function airaloCodesIn(places: object): string[] {
  const packages = [{ id: 'P', type: 'sim', net_price: 1, amount: 1, day: 1 }]
  const [product] = airaloProducts(
    { operators: [{ packages, ...places }] },
    { currencyCode: 'USD', discount: undefined },
  )
  return codesIn(product)
}

function currencyIn(balance: BalanceOutcome): string | undefined {
  return balance.kind === 'balance' ? balance.currencyCode : undefined
}

/** The parts without those of other names. */
function only(parts: unknown[], name: string): unknown[] {
  return without(parts, ({ currency }) => NAMES.some((one) => one !== name && currency === `US${one}`))
}

function detailsOf(more: Record<string, string>) {
  const details = { PLAN_DATA_LIMIT: '1', PLAN_DATA_UNIT: 'GB', PLAN_VALIDITY: '24', ...more }
  return Object.entries(details).map(([name, value]) => ({ name, value }))
}

const MOBIMATTER = { productId: 'P', productCategory: 'esim_realtime', wholesalePrice: 1 }
const ESIM_GO = { name: 'B', price: 1, duration: 1, dataAmount: 1_000 }
const ZENDIT = { offerId: 'P', dataGB: 1, durationDays: 1, cost: { fixed: 1, currency: 'USD', currencyDivisor: 100 } }
const GATEWAY = {
  ...{ packageCode: 'P', name: 'P', status: 'ON_SALE', packageType: 'BASE', dataType: 'TOTAL' },
  ...{ volume: 1, duration: 1, price: 1, currencyCode: 'USD' },
}

/** A different time for each name. */
function startOf(name: string): string {
  return `2026-11-0${name.charCodeAt(0) - 64}T00:00:00Z`
}

function dated(body: object) {
  return async () => ({ kind: 'reply', status: 200, body, retryAfterMs: undefined, time: new Date(TIME) }) as never
}

/** Leaves out objects. */
function without(parts: unknown[], isLeftOut: (part: Record<string, unknown>) => boolean): unknown[] {
  return parts.filter((part) => !isObject(part) || !isLeftOut(part))
}

describe.each(Object.entries(PARTS))('%s', (_, { part, odd = {}, isDescription, read }) => {
  const members = Object.entries(odd).flatMap(([member, values]) =>
    values.map((value) => ({ ...(part('Z') as object), [member]: value })),
  )
  it.each([null, 7, 'odd', [1], ...members].map((one) => [one]))(
    'with %j at any position are read without that part',
    async (one) => {
      for (let position = 0; position <= NAMES.length; position++) {
        const parts: unknown[] = NAMES.map(part)
        parts.splice(position, 0, one)
        for (const name of NAMES) {
          const { isRead, named } = await read(parts, name)
          expect({ name, isRead }).toEqual({ name, isRead: true })
          expect(named).toHaveLength(isDescription ? 0 : 1)
        }
      }
    },
  )
})

describe('the lists that the adapters read', () => {
  const FOLDERS = ['airalo', 'esim-access', 'esim-go', 'gateway', 'mobimatter', 'zendit']
  const CALLS = /\b(?:entriesOf|entriesIn|listOf|pageOf|Array\.isArray|readEach)(?:<\w+>)?\((?:[^()]|\([^()]*\))*\)/g
  /** The envelope itself, in which every list of the RT family arrives. */
  const ENVELOPES = ['esim-access/client.ts: Array.isArray(answer.obj)', 'esim-access/client.ts: entriesOf(obj[name])']

  /** The calls that read a list, such as `zendit/lists.ts: entriesOf(roaming)`. */
  function callsIn(file: string): string[] {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8').replaceAll(/^(import|export function) .*$/gm, '')
    const calls = [...text.matchAll(CALLS)].map(([call]) =>
      call.replace(/^readEach(?:<\w+>)?\((\w+),.*/s, 'readEach($1, …)'),
    )
    // What one of the others returns is read further.
    const lists = calls.filter((call) => !/^readEach\((rows|list|entries),/.test(call))
    return lists.map((call, index) => {
      const earlier = lists.slice(0, index).filter((one) => one === call).length
      return `${file}: ${call}${earlier === 0 ? '' : ` (${earlier + 1})`}`
    })
  }

  it('are all tested with unreadable entries', () => {
    const files = FOLDERS.flatMap((folder) =>
      readdirSync(join(import.meta.dirname, folder)).map((file) => `${folder}/${file}`),
    ).filter((file) => !file.endsWith('.test.ts'))
    const tested = [...Object.values(LISTS), ...Object.values(PARTS)].flatMap(({ reads = [] }) => reads)
    expect([...new Set([...tested, ...ENVELOPES])].sort()).toEqual(files.flatMap(callsIn).sort())
  })
})
