import { createHmac } from 'node:crypto'
import { TERMS } from '#forms/answer-forms.ts'
import type { Account } from '#simulated-account.ts'
import { countryName, type Product } from '#simulated-catalogue.ts'
import { type Change, DAY_MS, type Esim, type Order, type Plan, planBytes } from '#simulated-order.ts'
import type { Answer, EventMessage, Refusal, World } from '#wholesaler.ts'

/* Answers and events of eSIM Go. Money is a decimal number, volume is in MB in the catalogue and in bytes on an eSIM. */

export function ok(body: unknown): Answer {
  return { status: 200, body }
}

export function failure(status: number, message: string): Answer {
  return { status, body: { message } }
}

/** The answer while an order is being carried out: try again later. */
export const PROCESSING: Answer = { status: 503, headers: { 'Retry-After': '1' }, body: { message: 'Processing' } }

/** The status of every answer to an account that was deactivated. */
export const DEACTIVATED = 410

export const STATUS_OF_REFUSAL: Record<Refusal, number> = {
  'rate-limited': 429,
  down: 503,
  unauthorized: 403,
  refused: 400,
  'out-of-stock': 400,
  'no-balance': 400,
  'unknown-package': 400,
  'unknown-order': 404,
  'unknown-esim': 404,
  'wrong-state': 400,
  'repeated-key': 400,
  'wrong-price': 400,
  'wrong-amount': 400,
}

export function bundleEntry(product: Product, forms: World['options']['forms']) {
  return {
    name: product.code,
    description: product.name,
    countries: product.coverage.countries.map((iso) => ({ name: countryName(iso), iso })),
    dataAmount: product.volume === null ? -1 : product.volume / 1_000_000,
    duration: product.days,
    unlimited: product.volume === null,
    price: product.price / 10_000,
    billingType: 'FixedCost',
    ...(forms.has('stated-terms') && {
      allowances: [
        { type: 'VOICE', service: 'STANDARD', amount: TERMS.minutes, unit: 'MINUTES', unlimited: false },
        { type: 'SMS', service: 'STANDARD', amount: TERMS.sms, unit: 'SMS', unlimited: false },
      ],
    }),
  }
}

export function orderBody(account: Account, order: Order, { withIccids = true } = {}) {
  const esims = order.target ? [order.target] : order.esims
  return {
    orderReference: order.reference,
    status: order.state === 'pending' ? 'processing' : 'completed',
    order: [
      {
        type: 'bundle',
        item: order.product.code,
        quantity: order.count,
        pricePerUnit: order.product.price / 10_000,
        subTotal: order.amount / 10_000,
        ...(withIccids && order.deliveredMs !== null
          ? { esims: esims.map(esimEntry), iccids: esims.map(({ iccid }) => iccid) }
          : {}),
      },
    ],
    total: order.amount / 10_000,
    currency: account.currencyCode,
    createdDate: new Date(order.createdMs).toISOString(),
    assigned: true,
  }
}

function esimEntry({ iccid, matchingId, smdpAddress }: Esim) {
  return { iccid, matchingId, smdpAddress }
}

function bundleState(account: Account, esim: Esim, plan: Plan): string {
  if (plan.isRevoked) return 'revoked'
  if (plan.endsMs === null) return esim.status === 'UNUSED_EXPIRED' ? 'lapsed' : 'queued'
  if (esim.status === 'USED_EXPIRED') return 'expired'
  return account.usedBytes(esim, plan) === planBytes(plan) ? 'depleted' : 'active'
}

export function assignmentEntry(account: Account, esim: Esim, plan: Plan) {
  const bytes = planBytes(plan)
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  return {
    name: plan.product.code,
    description: plan.product.name,
    assignments: [
      {
        id: plan.order.reference,
        callTypeGroup: 'data',
        initialQuantity: bytes ?? 0,
        remainingQuantity: bytes === null ? 0 : bytes - account.usedBytes(esim, plan),
        startTime: time(plan.endsMs === null ? null : plan.endsMs - plan.product.days * DAY_MS),
        endTime: time(plan.endsMs),
        assignmentDateTime: time(plan.order.deliveredMs),
        assignmentReference: plan.order.reference,
        bundleState: bundleState(account, esim, plan),
        unlimited: bytes === null,
      },
    ],
  }
}

/**
 * The events for a change: a bundle's usage. Only version 3 is signed. One public document states base64 for the signature,
 * another hex: both occur here.
 */
export function eventsOf({ account, options }: World, change: Change, apiKey: string): EventMessage[] {
  if ('order' in change || change.kind === 'status') return []
  const { esim, kind } = change
  const plan = esim.plans.find(({ isRevoked }) => !isRevoked)
  if (!plan) return []
  const { name, assignments } = assignmentEntry(account, esim, plan)
  const bundle = { name, ...assignments[0] }
  const body = { iccid: esim.iccid, alertType: kind === 'usage' ? 'Utilisation' : 'FirstAttachment', bundle }
  if (options.forms.has('unsigned-events')) return [{ body }]
  const encoding = kind === 'usage' ? 'base64' : 'hex'
  const signature = createHmac('sha256', apiKey).update(JSON.stringify(body)).digest(encoding)
  return [{ headers: { 'X-Signature-SHA256': signature }, body }]
}
