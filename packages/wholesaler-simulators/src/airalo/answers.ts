import { phoneNumberOf, TERMS } from '#forms/answer-forms.ts'
import type { Account } from '#simulated-account.ts'
import { type Coverage, countryName, type Product } from '#simulated-catalogue.ts'
import { DAY_MS, type Esim, type Order } from '#simulated-order.ts'
import type { Answer, Refusal, RequestProblem, World } from '#wholesaler.ts'

/* Airalo's answers. Money is a decimal number, volume is in MB. */

export function ok(data: unknown, rest: Record<string, unknown> = {}): Answer {
  return { status: 200, body: { data, meta: { message: 'success' }, ...rest } }
}

export function message(status: number, text: string): Answer {
  return { status, body: { data: [], meta: { message: text } } }
}

/** Codes of `{code, reason}`, sent with status 422. */
const CODE_OF_REFUSAL: Partial<Record<Refusal, number>> = {
  'no-balance': 11,
  down: 13,
  'out-of-stock': 33,
  'unknown-package': 34,
  'unknown-esim': 73,
  'wrong-state': 23,
  refused: 53,
}

const STATUS_OF_REFUSAL: Partial<Record<Refusal, number>> = {
  'rate-limited': 429,
  unauthorized: 401,
  'unknown-order': 404,
}

export function refusal(reason: Refusal, text: string, code?: string): Answer {
  const status = STATUS_OF_REFUSAL[reason]
  if (status !== undefined) return message(status, text)
  return { status: 422, body: { code: Number(code ?? CODE_OF_REFUSAL[reason] ?? 53), reason: text } }
}

/** The refusals of the form other-refusals, in turn: of the request, of its checksum, and without a code. */
export function otherRefusal(index: number, reason: string): Answer {
  const bodies = [{ code: 43, reason }, { code: 14, reason }, { reason }]
  return { status: 422, body: bodies[index % bodies.length] }
}

export function shapeRefusal({ kind, path }: RequestProblem): Answer {
  if (kind === 'unknown-path') return message(404, 'Not found')
  if (kind === 'method') return message(405, 'Method not allowed')
  if (kind === 'content-type') return message(415, 'Unsupported media type')
  const data = { [path === '' ? 'body' : path]: `The ${path} field is invalid: ${kind}.` }
  return { status: 422, body: { data, meta: { message: 'the parameter is invalid' } } }
}

/** One row of the catalogue: the packages of one coverage. */
export function coverageEntry(coverage: Coverage, products: Product[], { currency, forms }: Omit<Shown, 'include'>) {
  const isRegion = coverage.code.startsWith('!')
  return {
    slug: slugOf(coverage.name),
    country_code: isRegion ? '' : coverage.code,
    title: coverage.name,
    operators: [
      {
        id: 1,
        title: `${coverage.name} Mobile`,
        type: isRegion ? 'global' : 'local',
        plan_type: 'data',
        activation_policy: 'first-usage',
        is_kyc_verify: false,
        rechargeability: true,
        ...placesOf(coverage, forms),
        packages: products.map((product) => packageEntry(product, currency, forms)),
      },
    ],
  }
}

function placesOf({ countries }: Coverage, forms: Forms) {
  if (forms.has('country-lists')) {
    return { countries: countries.map((country_code) => ({ country_code, title: countryName(country_code) })) }
  }
  return { coverages: countries.map((code) => ({ code, name: countryName(code), networks: [] })) }
}

type Forms = World['options']['forms']

/** The discount of an account without net prices. */
export const DISCOUNT_PERCENT = 20

/** The retail price that this discounted price results from. */
function beforeDiscount(price: number): number {
  return (price * 100) / (100 - DISCOUNT_PERCENT)
}

/** US dollars for one unit of another currency, in the form currency-prices. */
const DOLLARS = 1.25

export function packageEntry(product: Product, currency: string, forms: Forms) {
  const { code, kind, name, price, retailPrice, volume, days } = product
  const net = price / 10_000
  const dollars = currency === 'USD' ? net : net * DOLLARS
  const prices = forms.has('discount-pricing')
    ? { price: beforeDiscount(price) / 10_000 }
    : forms.has('currency-prices')
      ? { price: retailPrice / 10_000, net_price: dollars, prices: { net_price: { USD: dollars, [currency]: net } } }
      : { price: retailPrice / 10_000, net_price: net }
  const terms = { voice: TERMS.minutes, text: TERMS.sms, is_fair_usage_policy: true, fair_usage_policy: TERMS.fairUse }
  return {
    id: code,
    type: kind === 'topUp' ? 'topup' : 'sim',
    ...prices,
    amount: volume === null ? 0 : volume / 1_000_000,
    day: days,
    is_unlimited: volume === null,
    title: name,
    ...(forms.has('stated-terms') && terms),
  }
}

export function slugOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]+/g, '-')
}

interface Shown {
  currency: string
  /** Members of `include`, such as sims and status. */
  include: readonly string[]
  forms: Forms
}

/** The answer to a new order states the debited amount. Lists and look-ups state only the retail price, as text. */
function pricesOf({ product, amount, count }: Order, isNew: boolean, forms: Forms) {
  if (forms.has('discount-pricing')) {
    const retail = beforeDiscount(amount) / 10_000
    const paid = { unit_paid_price: amount / count / 10_000, total_amount_paid: amount / 10_000 }
    const discount = { pricing_model: 'discount_pricing', discount_percentage: DISCOUNT_PERCENT }
    return isNew ? { price: retail, ...discount, ...paid } : { price: retail.toFixed(2) }
  }
  const retail = (product.retailPrice * count) / 10_000
  return isNew ? { price: retail, net_price: amount / 10_000 } : { price: retail.toFixed(2) }
}

/** @param isNew it is the answer to the order itself, or the event about it */
export function orderBody(order: Order, { currency, include, forms }: Shown, isNew: boolean) {
  const { product } = order
  const withSims = isNew || include.includes('sims')
  return {
    id: Number(order.reference.split('-')[1]),
    code: order.reference,
    type: order.kind === 'topUp' ? 'topup' : 'sim',
    package_id: product.code,
    quantity: order.count,
    description: order.key,
    data: product.volume === null ? 'Unlimited' : `${product.volume / 1_000_000_000} GB`,
    validity: product.days,
    ...pricesOf(order, isNew, forms),
    currency,
    created_at: new Date(order.createdMs).toISOString().replace('T', ' ').slice(0, 19),
    ...(withSims && order.kind === 'eSIM' ? { sims: order.esims.map((esim) => simEntry(esim, forms)) } : {}),
    ...(include.includes('status') ? { status: statusOf(order, forms) } : {}),
  }
}

/** Airalo has no other states. */
function statusOf({ state }: Order, forms: Forms) {
  const isFailed = state === 'failed' || (state === 'pending' && forms.has('failed-orders'))
  const slug = isFailed ? 'failed' : state === 'cancelled' ? 'refunded' : 'completed'
  return { name: slug, slug }
}

const APPLE_LINK = 'https://esimsetup.apple.com/esim_qrcode_provisioning'

/** iPhones find it by themselves. */
const SYSTEM_APNS = {
  ios: { apn_type: 'automatic', apn_value: null },
  android: { apn_type: 'manual', apn_value: 'android.airalo.example' },
}

function simEntry(esim: Esim, forms: Forms) {
  const { iccid, esimNo, smdpAddress, matchingId, imsi } = esim
  const code = `LPA:1$${smdpAddress}$${matchingId}`
  const isOnlyInLink = forms.has('apple-links')
  return {
    id: Number(esimNo),
    iccid,
    lpa: isOnlyInLink ? null : smdpAddress,
    matching_id: isOnlyInLink ? null : matchingId,
    qrcode: isOnlyInLink ? null : code,
    ...(isOnlyInLink && { direct_apple_installation_url: `${APPLE_LINK}?carddata=${code}` }),
    confirmation_code: null,
    ...(forms.has('system-apns') ? { apn_value: null, apn: SYSTEM_APNS } : { apn_value: 'internet' }),
    msisdn: forms.has('stated-terms') ? phoneNumberOf(esim) : null,
    imsis: [imsi],
    is_roaming: true,
  }
}

export function usageBody(account: Account, esim: Esim, forms: Forms) {
  const isEnded = ['USED_UP', 'USED_EXPIRED', 'UNUSED_EXPIRED'].includes(esim.status)
  if (forms.has('recycled-usage') && isEnded) {
    return { remaining: 0, total: 0, expired_at: null, is_unlimited: null, status: 'RECYCLED' }
  }
  const total = account.totalBytes(esim)
  const megabytes = (bytes: number) => Math.floor(bytes / 1_000_000)
  const endsMs = esim.activatedMs === null ? null : esim.activatedMs + esim.order.product.days * DAY_MS
  return {
    remaining: total === null ? 0 : megabytes(Math.max(0, total - esim.usedBytes)),
    total: total === null ? 0 : megabytes(total),
    expired_at: endsMs === null ? null : new Date(endsMs).toISOString().replace('T', ' ').slice(0, 19),
    is_unlimited: total === null,
    status: STATUS[esim.status],
  }
}

const STATUS: Record<Esim['status'], string> = {
  GOT_RESOURCE: 'NOT_ACTIVE',
  IN_USE: 'ACTIVE',
  USED_UP: 'FINISHED',
  USED_EXPIRED: 'EXPIRED',
  UNUSED_EXPIRED: 'EXPIRED',
  CANCEL: 'UNKNOWN',
  SUSPENDED: 'UNKNOWN',
  REVOKED: 'UNKNOWN',
}
