import { PAGE_SIZE_MAX, type Package, type Profile } from '@dealer-esim/contract'
import { includedIn } from '#allowances.ts'
import { currencyOf, dateOf, iccidOf, isCountryCode, isText } from '#members.ts'
import type { SupplierProduct, SupplierRecord, UnreadableEntry } from '#supplier.ts'
import { readEach, Unreadable } from '#unreadable-entry.ts'
import type { Upstream, UpstreamAnswer } from './client.ts'

/** Enough for two million rows. */
const PAGES_MAX = 4_000

/** Our eSIMs at the upstream. @throws if they cannot be read to the end */
export async function* listProfiles(upstream: Upstream, since: Date): AsyncGenerator<SupplierRecord | UnreadableEntry> {
  const request = { startTime: since.toISOString(), pageSize: PAGE_SIZE_MAX }
  const pages = readPages((next) => upstream((client) => client.profiles({ ...request, ...next })))
  let page = 0
  for await (const { profileList } of pages) {
    page += 1
    yield* readEach(profileList, `page ${page}`, (profile) => recordOf(profile as unknown as Profile, since))
  }
}

/** Pure. */
function recordOf(profile: Profile, since: Date): SupplierRecord | Unreadable {
  const { transactionId: key, esimStatus, createTime } = profile
  const iccid = iccidOf(profile)
  if (!isText(key)) return new Unreadable('its transactionId is unreadable')
  if (iccid === undefined) return new Unreadable(`the iccid of ${key} is unreadable`)
  return { key, iccid, cancelled: esimStatus === 'CANCEL', time: dateOf(createTime) ?? since }
}

/**
 * The packages that we may buy at the upstream, first for new eSIMs, then for top-ups. @throws if they cannot be read to the
 * end
 */
export async function* listProducts(upstream: Upstream): AsyncGenerator<SupplierProduct | UnreadableEntry> {
  for (const type of ['BASE', 'TOPUP'] as const) {
    const pages = readPages((next) => upstream((client) => client.packages({ type, pageSize: PAGE_SIZE_MAX, ...next })))
    let page = 0
    for await (const { packageList } of pages) {
      page += 1
      yield* readEach(packageList, `page ${page} of type ${type}`, (item) => productOf(item as unknown as Package))
    }
  }
}

/** @throws if a page cannot be read, or repeats a cursor, which would be followed forever */
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
 * Pure. The upstream's price for us is our cost.
 * @returns undefined if rules cannot sell it: off sale, with eKYC, or a daily volume for a fixed duration
 */
export function productOf(item: Package): SupplierProduct | Unreadable | undefined {
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
  if (!isReadable || currencyCode === undefined) {
    return new Unreadable('a member has an unknown form', isText(packageCode) ? packageCode : undefined)
  }
  const included = includedIn(item.description)
  return {
    productCode: packageCode,
    name: isText(name) ? name : packageCode,
    packageType,
    countries: locationCodes.filter(isCountryCode),
    volume: volume === null ? null : BigInt(volume),
    isDayPass,
    durationDays: duration,
    cost: BigInt(price),
    currencyCode,
    ...(isText(item.fupPolicy) && { fupPolicy: item.fupPolicy }),
    ...(included && { included }),
  }
}
