import { randomUUID } from 'node:crypto'
import { phoneNumberOf, TERMS } from '#forms/answer-forms.ts'
import type { Account } from '#simulated-account.ts'
import { countryName, type Product } from '#simulated-catalogue.ts'
import type { Change, Esim } from '#simulated-order.ts'
import { DAY_MS } from '#simulated-order.ts'
import type { Answer, EventMessage, Refusal, RequestProblem, World } from '#wholesaler.ts'

/* Answers and notifications of the RT family. HTTP status 200 on failures too. */

export function success(obj: unknown): Answer {
  return { status: 200, body: { success: true, errorCode: '0', errorMsg: null, obj } }
}

export function failure(errorCode: string, errorMsg: string): Answer {
  return { status: 200, body: { success: false, errorCode, errorMsg, obj: null } }
}

export const CODE_OF_REFUSAL: Record<Exclude<Refusal, 'refused'>, string> = {
  'rate-limited': '900001',
  down: '000001',
  unauthorized: '401001',
  'out-of-stock': '200011',
  'no-balance': '200007',
  'unknown-package': '310241',
  'unknown-order': '310272',
  'unknown-esim': '310403',
  'wrong-state': '200002',
  'repeated-key': '310402',
  'wrong-price': '200005',
  'wrong-amount': '200006',
}

/** Codes of faults of the order's members, in turn: refusals of the form other-refusals. */
export const ORDER_FAULTS = ['310201', '310211', '310221', '310231', '310251']

export const CODE_OF_PROBLEM: Record<RequestProblem['kind'], string> = {
  'unknown-path': '000103',
  method: '000103',
  'content-type': '000102',
  json: '000104',
  missing: '000105',
  null: '000106',
  length: '000107',
  extra: '200008',
  mistyped: '200008',
  value: '200008',
}

/** `2025-09-11T13:28:09+0000` */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, '+0000')
}

export function packageEntry(product: Product, currencyCode: string, forms: World['options']['forms']) {
  const { coverage, volume, days } = product
  const isInWords = forms.has('unit-words')
  return {
    packageCode: product.code,
    slug: product.slug,
    name: product.name,
    price: product.price,
    retailPrice: product.retailPrice,
    currencyCode,
    volume: volume ?? 0,
    smsStatus: forms.has('stated-terms') ? 1 : 0,
    dataType: dataType(product),
    unusedValidTime: 180,
    duration: isInWords && days < 7 ? days * 24 : days,
    durationUnit: isInWords ? (days < 7 ? 'HOUR' : 'DAYS') : 'DAY',
    location: coverage.countries.join(','),
    locationCode: coverage.code,
    description: product.name,
    activeType: 2,
    favorite: false,
    speed: '4G/5G',
    ipExport: 'HK',
    supportTopUpType: topUpType(product),
    fupPolicy: forms.has('stated-terms') ? TERMS.fairUse : '',
    locationNetworkList: coverage.countries.map((code) => ({
      locationName: countryName(code),
      locationLogo: `/img/flags/${code.toLowerCase()}.png`,
      locationCode: code,
      operatorList: [{ operatorName: `${code} Mobile`, networkType: '5G' }],
    })),
  }
}

function dataType({ volume, isDaily }: Product): number {
  if (volume === null) return 4
  return isDaily ? 2 : 1
}

/** 2: by a package; 3: by days, sent as periodNum. */
function topUpType({ isDaily }: Product): number {
  return isDaily ? 3 : 2
}

/** One row of `esim/query`. */
export function esimRow(account: Account, esim: Esim, { origin, options: { forms } }: World) {
  const { order } = esim
  const { product } = order
  return {
    ...stateOf(esim),
    imsi: esim.imsi,
    smsStatus: 0,
    msisdn: forms.has('stated-terms') ? phoneNumberOf(esim) : '',
    ac: `LPA:1$${esim.smdpAddress}$${esim.matchingId}`,
    qrCodeUrl: `${origin()}/qr/${esim.esimNo}.png`,
    shortUrl: `${origin()}/s/${esim.esimNo}`,
    eid: esim.eid ?? '',
    activeType: 2,
    dataType: dataType(product),
    activateTime: esim.activatedMs === null ? null : timeText(esim.activatedMs),
    expiredTime: timeText(expiresMs(esim)),
    installationTime: esim.installedMs === null ? null : timeText(esim.installedMs),
    totalVolume: account.totalBytes(esim) ?? 0,
    totalDuration: totalDays(esim),
    durationUnit: 'DAY',
    orderUsage: esim.usedBytes,
    pin: '',
    puk: '',
    apn: 'internet',
    ipExport: 'HK',
    supportTopUpType: topUpType(product),
    fupPolicy: '',
    packageList: esim.plans.map((plan) => ({
      packageName: plan.product.name,
      packageCode: plan.product.code,
      slug: plan.product.slug,
      duration: plan.product.days * plan.order.periods,
      volume: plan.product.volume ?? 0,
      locationCode: plan.product.coverage.code,
      createTime: timeText(plan.order.createdMs),
      esimTranNo: esim.esimNo,
      transactionId: plan.order.key,
    })),
  }
}

export function totalDays(esim: Esim): number {
  return esim.plans.reduce((sum, { product, order }) => sum + product.days * order.periods, 0)
}

/** Unused eSIMs are kept for 180 days. */
export function expiresMs(esim: Esim): number {
  return (esim.activatedMs ?? esim.order.createdMs) + (esim.activatedMs === null ? 180 : totalDays(esim)) * DAY_MS
}

function stateOf(esim: Esim) {
  return {
    esimTranNo: esim.esimNo,
    orderNo: esim.order.reference,
    transactionId: esim.order.key,
    iccid: esim.iccid,
    esimStatus: esim.status,
    smdpStatus: esim.profile,
  }
}

/** The notifications of a change. They are not signed. */
export function notificationsOf(account: Account, change: Change, nowMs: number): EventMessage[] {
  const about = (notifyType: string, content: unknown): EventMessage[] => [
    { body: { notifyType, eventGenerateTime: timeText(nowMs), notifyId: randomUUID(), content } },
  ]
  if ('order' in change) {
    if (change.kind === 'failed' || change.order.kind === 'topUp') return []
    return about('ORDER_STATUS', { orderNo: change.order.reference, orderStatus: 'GOT_RESOURCE' })
  }
  const { esim } = change
  if (change.kind === 'profile') return about('SMDP_EVENT', { eid: esim.eid ?? '', ...stateOf(esim) })
  if (change.kind === 'status') return about('ESIM_STATUS', stateOf(esim))
  const total = account.totalBytes(esim)
  if (total === null || esim.usedBytes < total / 2) return []
  const { esimStatus: _, smdpStatus: __, ...identity } = stateOf(esim)
  const share = esim.usedBytes / total
  return about('DATA_USAGE', {
    ...identity,
    totalVolume: total,
    orderUsage: esim.usedBytes,
    remain: Math.max(0, total - esim.usedBytes),
    lastUpdateTime: timeText(nowMs),
    remainThreshold: share >= 0.9 ? 0.9 : share >= 0.8 ? 0.8 : 0.5,
  })
}
