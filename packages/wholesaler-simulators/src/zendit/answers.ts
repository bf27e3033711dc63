import { phoneNumberOf, TERMS } from '#forms/answer-forms.ts'
import type { Account } from '#simulated-account.ts'
import type { Product } from '#simulated-catalogue.ts'
import { DAY_MS, type Esim, type Order, planBytes } from '#simulated-order.ts'
import type { Answer, Refusal, World } from '#wholesaler.ts'

/* Zendit's answers. Money is in hundredths, with the divisor next to it. */

export function ok(body: unknown): Answer {
  return { status: 200, body }
}

export function failure(status: number, code: string, message: string): Answer {
  return { status, body: { error: { code, description: message, message } } }
}

export const STATUS_OF_REFUSAL: Record<Refusal, number> = {
  'rate-limited': 429,
  down: 503,
  unauthorized: 401,
  refused: 400,
  'out-of-stock': 400,
  'no-balance': 400,
  'unknown-package': 400,
  'unknown-order': 404,
  'unknown-esim': 404,
  'wrong-state': 409,
  'repeated-key': 409,
  'wrong-price': 400,
  'wrong-amount': 400,
}

type Forms = World['options']['forms']

export function offerEntry(product: Product, currency: string, forms: Forms) {
  return {
    ...describeProduct(product, forms),
    enabled: product.inStock,
    priceType: 'FIXED',
    cost: { currency, currencyDivisor: 100, ...offered(product.price / 100, forms) },
    price: { currency, currencyDivisor: 100, fixed: product.retailPrice / 100 },
    deliveryType: 'ESIM',
    productType: 'ESIM',
  }
}

function describeProduct({ code, name, coverage, volume, days }: Product, forms: Forms) {
  const isRegion = coverage.code.startsWith('!')
  return {
    offerId: code,
    brand: 'SIM-ESIM',
    country: isRegion ? '' : coverage.code,
    regions: isRegion ? [coverage.name] : [],
    roaming:
      isRegion && !forms.has('region-names')
        ? coverage.countries.map((country) => ({ country, dataSpeeds: ['4G', '5G'] }))
        : [],
    dataGB: volume === null ? 0 : volume / 1_000_000_000,
    dataUnlimited: volume === null,
    dataSpeeds: ['4G', '5G'],
    durationDays: days,
    shortNotes: name,
    notes: name,
    ...(forms.has('stated-terms') && { voiceMinutes: TERMS.minutes, smsNumber: TERMS.sms }),
  }
}

/** In hundredths. */
const FEE = 10

function offered(total: number, forms: Forms) {
  return forms.has('fees-on-top') ? { fixed: total - FEE, fee: FEE } : { fixed: total }
}

/** The account is debited the total, which `cost` contains with its fee, or without it. */
function costs(total: number, forms: Forms) {
  if (forms.has('fees-on-top')) return { cost: total - FEE, costBase: total - FEE, costFee: FEE }
  return forms.has('cost-fees') ? { cost: total, costBase: total - FEE, costFee: FEE } : { cost: total }
}

/** The body of a purchase, the same in the answer to a query and in an event. */
export function purchaseBody(account: Account, order: Order, forms: Forms) {
  const esim = order.target ?? order.esims[0]
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    ...describeProduct(order.product, forms),
    transactionId: order.key,
    status: statusOf(order),
    productType: 'ESIM',
    priceType: 'FIXED',
    ...costs(order.amount / 100, forms),
    costCurrency: account.currencyCode,
    costCurrencyDivisor: 100,
    createdAt: time(order.createdMs),
    updatedAt: time(order.deliveredMs ?? order.createdMs),
    ...(order.deliveredMs !== null && esim ? { confirmation: confirmation(order, esim, forms) } : {}),
    ...(order.state === 'failed' ? { error: FAILED } : {}),
  }
}

const FAILED = { code: 'provider_error', description: 'The provider refused the purchase.', message: 'Purchase failed' }

function confirmation(order: Order, esim: Esim, forms: Forms) {
  const { iccid, smdpAddress, matchingId } = esim
  return {
    ...(forms.has('esim-details') && { apn: 'zendit.example', msisdn: phoneNumberOf(esim) }),
    activationCode: matchingId,
    iccid,
    smdpAddress,
    externalReferenceId: order.reference,
    redemptionInstructions: `Scan LPA:1$${smdpAddress}$${matchingId}`,
  }
}

function statusOf({ state }: Order): string {
  if (state === 'failed') return 'FAILED'
  return state === 'pending' ? 'PENDING' : 'DONE'
}

export function planEntry(account: Account, esim: Esim, plan: Esim['plans'][number], forms: Forms) {
  const bytes = planBytes(plan)
  const used = account.usedBytes(esim, plan)
  const gigabytes = (value: number) => value / 1_000_000_000
  return {
    planId: plan.order.reference,
    offerId: plan.product.code,
    status: plan.endsMs === null ? 'QUEUED' : used === bytes ? 'USED' : 'ACTIVE',
    dataUnlimited: bytes === null,
    initialDataGB: bytes === null ? 0 : gigabytes(bytes),
    remainingDataGB: bytes === null ? 0 : gigabytes(bytes - used),
    startAt: plan.endsMs === null ? null : new Date(plan.endsMs - plan.product.days * DAY_MS).toISOString(),
    endAt: plan.endsMs === null ? null : new Date(plan.endsMs).toISOString(),
    ...(forms.has('esim-details') && {
      firstInstalledAt: esim.installedMs === null ? null : new Date(esim.installedMs).toISOString(),
    }),
  }
}
