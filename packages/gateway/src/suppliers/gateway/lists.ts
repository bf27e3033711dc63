import { PAGE_SIZE_MAX, type Package } from '@dealer-esim/contract'
import { currencyOf, iccidOf, isText } from '../members.ts'
import type { SupplierProduct, SupplierRecord } from '../supplier.ts'
import type { Upstream, UpstreamAnswer } from './client.ts'

/** Two million rows. */
const PAGES_MAX = 4_000

/** The upstream's eSIMs of ours. @throws if they cannot be read to the end */
export async function* listProfiles(upstream: Upstream, since: Date): AsyncGenerator<SupplierRecord> {
  const request = { startTime: since.toISOString(), pageSize: PAGE_SIZE_MAX }
  const pages = readPages((next) => upstream((client) => client.profiles({ ...request, ...next })))
  for await (const { profileList } of pages) {
    for (const profile of profileList) {
      const iccid = iccidOf(profile)
      if (iccid === undefined) continue
      const cancelled = profile.esimStatus === 'CANCEL'
      yield { key: profile.transactionId, iccid, cancelled, time: new Date(profile.createTime) }
    }
  }
}

/** What we may buy at the upstream: packages for new eSIMs, then top-ups. @throws if they cannot be read to the end */
export async function* listProducts(upstream: Upstream): AsyncGenerator<SupplierProduct> {
  for (const type of ['BASE', 'TOPUP'] as const) {
    const pages = readPages((next) => upstream((client) => client.packages({ type, pageSize: PAGE_SIZE_MAX, ...next })))
    for await (const { packageList } of pages) {
      for (const item of packageList) {
        const product = productOf(item)
        if (product !== undefined) yield product
      }
    }
  }
}

/** @throws if a page cannot be read: a repeated cursor would be followed for ever */
async function* readPages<Page extends { nextCursor: string | null }>(
  read: (next: { cursor?: string }) => Promise<UpstreamAnswer<Page>>,
): AsyncGenerator<Page> {
  const cursors = new Set<string>()
  for (let next: { cursor?: string } = {}; ; ) {
    const page = await read(next)
    if ('failure' in page) throw page.failure
    yield page.value
    const cursor: unknown = page.value.nextCursor
    if (cursor === null) return
    if (typeof cursor !== 'string' || cursors.has(cursor)) {
      throw new Error(`page ${cursors.size + 1} of the list has no valid cursor to the next page`)
    }
    cursors.add(cursor)
    if (cursors.size === PAGES_MAX) throw new Error(`the list has more than ${PAGES_MAX} pages`)
    next = { cursor }
  }
}

/**
 * Pure. Our price at the upstream is our cost.
 * @returns undefined if it cannot be sold by rules: off sale, with eKYC, so much a day for a fixed time, or unreadable
 */
export function productOf(item: Package): SupplierProduct | undefined {
  if (item.status !== 'ON_SALE' || item.ekycRequired) return undefined
  const { packageCode, name, packageType, dataType, volume, duration, periodNumMin, price, locationCodes } = item
  const currencyCode = currencyOf(item.currencyCode)
  const isDayPass = periodNumMin !== null && periodNumMin !== undefined
  if (dataType === 'DAILY' && !isDayPass) return undefined
  const isReadable =
    isText(packageCode) &&
    (packageType === 'BASE' || packageType === 'TOPUP') &&
    Number.isSafeInteger(price) &&
    price >= 0 &&
    Number.isSafeInteger(duration) &&
    (volume === null ? dataType === 'UNLIMITED' : Number.isSafeInteger(volume) && volume > 0) &&
    Array.isArray(locationCodes)
  if (!isReadable || currencyCode === undefined) return undefined
  return {
    productCode: packageCode,
    name: isText(name) ? name : packageCode,
    packageType,
    countries: locationCodes.filter((code) => /^[A-Z]{2}$/.test(code)),
    volume: volume === null ? null : BigInt(volume),
    isDayPass,
    durationDays: duration,
    cost: BigInt(price),
    currencyCode,
  }
}
