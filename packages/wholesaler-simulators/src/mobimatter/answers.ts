import { phoneNumberOf, TERMS } from '#forms/answer-forms.ts'
import type { Account } from '#simulated-account.ts'
import type { Product } from '#simulated-catalogue.ts'
import { DAY_MS, type Esim, type Order, type OrderState, planBytes } from '#simulated-order.ts'
import type { Answer, Refusal, World } from '#wholesaler.ts'

/* Answers of MobiMatter: `{statusCode, result}`, errors `{statusCode, message}`. Money is a decimal number. */

export function ok(result: unknown): Answer {
  return { status: 200, body: { statusCode: 200, result } }
}

export function failure(status: number, message: string): Answer {
  return { status, body: { statusCode: status, message } }
}

/** 429 means out of stock. The interface documents no rate limit, so 503 stands in for one. */
export const STATUS_OF_REFUSAL: Record<Refusal, number> = {
  'rate-limited': 503,
  down: 455,
  unauthorized: 401,
  refused: 400,
  'out-of-stock': 429,
  'no-balance': 402,
  'unknown-package': 404,
  'unknown-order': 404,
  'unknown-esim': 404,
  'wrong-state': 400,
  'repeated-key': 400,
  'wrong-price': 400,
  'wrong-amount': 400,
}

const STATE: Record<OrderState, string> = {
  held: 'Created',
  pending: 'Processing',
  delivered: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  lapsed: 'Expired',
}

/** A family is one coverage: add-ons fit the eSIMs of their family. */
export function familyOf({ coverage }: Product): string {
  return `family-${coverage.label}`
}

export function categoryOf({ kind }: Product): string {
  return kind === 'topUp' ? 'esim_addon' : 'esim_realtime'
}

type Forms = World['options']['forms']

const PROVIDER = 'Sim Mobile'

export function productEntry(product: Product, currencyCode: string, forms: Forms) {
  const { coverage, volume, days, name } = product
  const isRegion = coverage.code.startsWith('!')
  return {
    productId: product.code,
    productCategory: categoryOf(product),
    productFamilyId: familyOf(product),
    productFamilyName: coverage.name,
    providerId: '1',
    providerName: PROVIDER,
    wholesalePrice: product.price / 10_000,
    retailPrice: product.retailPrice / 10_000,
    currencyCode,
    countries: coverage.countries,
    regions: isRegion ? [coverage.name] : [],
    productDetails: [
      { name: 'PLAN_TITLE', value: name },
      ...dataOf(volume, forms),
      { name: 'PLAN_DATA_UNIT', value: 'GB' },
      { name: 'PLAN_VALIDITY', value: String(days * 24) },
      ...(forms.has('stated-terms') ? STATED : []),
    ],
  }
}

const STATED = [
  { name: 'PLAN_VOICE_LIMIT', value: String(TERMS.minutes) },
  { name: 'HAS_SMS ', value: '1' },
  { name: 'SPEED_LONG', value: TERMS.fairUse },
]

/** The placeholder for the limit of a plan that is flagged as unlimited. */
const PLACEHOLDER = '999'

function dataOf(volume: number | null, forms: Forms) {
  if (volume !== null) return [{ name: 'PLAN_DATA_LIMIT', value: String(volume / 1_000_000_000) }]
  if (!forms.has('unlimited-marks')) return [{ name: 'PLAN_DATA_LIMIT', value: 'Unlimited' }]
  return [
    { name: 'UNLIMITED', value: '1' },
    { name: 'PLAN_DATA_LIMIT', value: PLACEHOLDER },
  ]
}

export function orderBody(order: Order, currencyCode: string, forms: Forms) {
  const esim = order.deliveredMs === null ? undefined : (order.target ?? order.esims[0])
  const { product, state } = order
  return {
    orderId: order.reference,
    orderState: state === 'failed' && forms.has('refunded-orders') ? 'Refunded' : STATE[state],
    created: timeText(order.createdMs, forms),
    currencyCode,
    ...(order.key === null ? {} : { label: order.key }),
    orderLineItem: {
      productId: product.code,
      productCategory: categoryOf(product),
      title: product.name,
      providerName: PROVIDER,
      wholesalePrice: order.amount / 10_000,
      retailPrice: product.retailPrice / 10_000,
      lineItemDetails: esim ? details(esim, order, forms) : [],
      ...(esim && forms.has('one-click-links') && { oneClickInstall: installLinks(esim) }),
    },
  }
}

/** After a replacement, the ICCID is that of the new eSIM, and the parent is the line. */
function details(esim: Esim, order: Order, forms: Forms) {
  const { iccid, smdpAddress, matchingId, esimNo } = esim
  const isConfirmed = forms.has('confirmation-codes')
  const isReplaced = order.kind === 'topUp' && forms.has('replaced-lines')
  const parents = [
    { name: 'PARENT_ORDER', value: esim.order.reference },
    { name: 'PARENT_IDENTIFIER', value: phoneNumberOf(esim) },
  ]
  const code = [
    { name: 'LOCAL_PROFILE_ASSISTANT', value: `${codeOf(esim)}${isConfirmed ? '$$1' : ''}` },
    { name: 'SMDP_ADDRESS', value: smdpAddress },
    { name: 'ACTIVATION_CODE', value: matchingId },
  ]
  return [
    ...(forms.has('one-click-links') ? [] : code),
    ...(isConfirmed ? [{ name: 'CONF_CODE', value: esimNo.slice(-4) }] : []),
    { name: 'ICCID', value: isReplaced ? `${iccid.slice(0, -4)}0000` : iccid },
    ...(forms.has('identity-pages') ? [{ name: 'KYC_URL', value: `https://kyc.mobimatter.example/${iccid}` }] : []),
    { name: 'ACCESS_POINT_NAME', value: 'internet' },
    { name: 'PHONE_NUMBER', value: forms.has('stated-terms') ? phoneNumberOf(esim) : '' },
    ...(isReplaced ? parents : []),
  ]
}

function codeOf({ smdpAddress, matchingId }: Esim): string {
  return `LPA:1$${smdpAddress}$${matchingId}`
}

function installLinks(esim: Esim) {
  const [ios, android] = ['apple', 'android'].map(
    (system) => `https://esimsetup.${system}.com/esim_qrcode_provisioning?carddata=${encodeURIComponent(codeOf(esim))}`,
  )
  return { ios, android }
}

/** 2026-11-20T08:26:18.767Z, or without the zone. */
function timeText(ms: number, forms: Forms): string {
  const text = new Date(ms).toISOString()
  return forms.has('times-without-zone') ? text.slice(0, -1) : text
}

/** What the provider knows about an eSIM. */
export function infoBody(account: Account, esim: Esim, forms: Forms) {
  const time = (ms: number | null) => (ms === null ? null : timeText(ms, forms))
  return {
    esim: {
      status: esim.installedMs === null ? 'Available' : 'Installed',
      installationDate: time(esim.installedMs),
      location: null,
      kycStatus: null,
      iccid: esim.iccid,
      phoneNumber: null,
    },
    packages: esim.plans.map((plan) => {
      const bytes = planBytes(plan)
      return {
        name: plan.product.name,
        associatedProductId: plan.product.code,
        activationDate: time(plan.endsMs === null ? null : plan.endsMs - plan.product.days * DAY_MS),
        expirationDate: time(plan.endsMs),
        totalAllowanceMb: bytes === null ? null : bytes / 1_000_000,
        usedMb: account.usedBytes(esim, plan) / 1_000_000,
        totalAllowanceMin: null,
        usedMin: null,
      }
    }),
  }
}
