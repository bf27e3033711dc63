import { createHmac, randomBytes } from 'node:crypto'
import type { Account } from '#simulated-account.ts'
import { countryName, type Product } from '#simulated-catalogue.ts'
import { type Esim, Refused } from '#simulated-order.ts'
import type { Answer, Call, Description, Operation, RawRequest, Wholesaler, World } from '#wholesaler.ts'
import * as answers from './answers.ts'
import * as shapes from './shapes.ts'

/** eSIM Access, and compatible wholesalers (the RT family). */
export function describeEsimAccess(): Description {
  return {
    codeOf: ({ serial, kind }) =>
      `${kind === 'topUp' ? 'TOPUP_' : ''}P${serial.toString(36).toUpperCase().padStart(5, '0')}`,
    hasDaily: true,
    smdpAddress: 'smdp.rt.example',
    createReference: (kind, serial) => `${kind === 'order' ? 'B' : ''}${25_000_000_000_000 + serial}`,
    repeatedKey: 'same',
    reusesIccids: true,
    createWholesaler,
  }
}

/** Operations: balance, locations, catalogue, order, query, cancel, suspend, unsuspend, revoke, topUp, usage, sms, webhook. */
function createWholesaler(world: World): Wholesaler {
  const credentials = {
    accessCode: randomBytes(16).toString('hex'),
    secretKey: randomBytes(16).toString('hex'),
    ...world.options.credentials,
  }
  const { account, clock } = world
  let others = 0
  return {
    basePath: '',
    credentials,
    operations: listOperations(world),
    authenticate: (request) => authenticate(credentials, request, clock.now()),
    refuse(reason, message, code) {
      const isOther = reason === 'out-of-stock' && world.options.forms.has('other-refusals')
      if (isOther) return answers.failure(answers.ORDER_FAULTS[others++ % answers.ORDER_FAULTS.length]!, message)
      return answers.failure(code ?? answers.CODE_OF_REFUSAL[reason === 'refused' ? 'down' : reason], message)
    },
    refuseShape: ({ kind, path }) => answers.failure(answers.CODE_OF_PROBLEM[kind], `${path}: ${kind}`),
    eventsOf: (change) => answers.notificationsOf(account, change, clock.now()),
  }
}

/** Programs send only RT-AccessCode, or all four headers with a signature, which is then verified. */
function authenticate(
  { accessCode, secretKey }: { accessCode: string; secretKey: string },
  { headers, raw }: RawRequest,
  nowMs: number,
): Answer | undefined {
  const code = headers['rt-accesscode']
  const [id, timestamp, signature] = ['rt-requestid', 'rt-timestamp', 'rt-signature'].map((name) => headers[name])
  if (code === undefined) return answers.failure('000101', 'RT-AccessCode is missing.')
  if (code !== accessCode) return answers.failure('401001', 'The access code is unknown.')
  if (id === undefined && timestamp === undefined && signature === undefined) return undefined
  if (!id || !timestamp || !signature) return answers.failure('000101', 'A header is missing.')
  if (!/^\d{13}$/.test(String(timestamp))) return answers.failure('000102', 'RT-Timestamp is not in milliseconds.')
  if (Math.abs(nowMs - Number(timestamp)) > CLOCK_MS_MAX) return answers.failure('101001', 'The timestamp is too old.')
  const expected = createHmac('sha256', secretKey).update(`${timestamp}${id}${accessCode}`).update(raw).digest('hex')
  return String(signature).toLowerCase() === expected ? undefined : answers.failure('101003', 'The signature is wrong.')
}

/** How far the clocks may differ. The limit is undocumented, so this one is generous. */
const CLOCK_MS_MAX = 5 * 60_000

function listOperations(world: World): Operation[] {
  const { account, events } = world
  const at = (path: string, name: string, body: Operation['body'], run: Operation['run']): Operation => ({
    name,
    at: `POST /api/v1/open/${path}`,
    ...(body && { body }),
    run,
  })
  const withEsim = (path: string, name: string, act: (esim: Esim) => void) =>
    at(path, name, shapes.ONE_ESIM, ({ body }) => {
      act(findEsim(account, body as OneEsim))
      return answers.success({})
    })
  return [
    { ...at('balance/query', 'balance', shapes.NOTHING, () => balance(world)), isBodyOptional: true },
    { ...at('location/list', 'locations', shapes.NOTHING, () => locations(account)), isBodyOptional: true },
    {
      ...at('package/list', 'catalogue', shapes.PACKAGE_LIST, (call) => listPackages(world, call)),
      isBodyOptional: true,
    },
    at('esim/order', 'order', shapes.ORDER, (call) => order(world, call)),
    at('esim/query', 'query', shapes.QUERY, (call) => query(world, call)),
    withEsim('esim/cancel', 'cancel', (esim) => account.cancel(esim)),
    withEsim('esim/suspend', 'suspend', (esim) => move(account, esim, ['IN_USE', 'GOT_RESOURCE'], 'SUSPENDED')),
    withEsim('esim/unsuspend', 'unsuspend', (esim) => move(account, esim, ['SUSPENDED'], 'IN_USE')),
    withEsim('esim/revoke', 'revoke', (esim) =>
      move(account, esim, ['GOT_RESOURCE', 'IN_USE', 'USED_UP', 'SUSPENDED'], 'REVOKED'),
    ),
    at('esim/topup', 'topUp', shapes.TOP_UP, (call) => topUp(world, call)),
    at('esim/usage/query', 'usage', shapes.USAGE, (call) => usage(world, call)),
    at('esim/sendSms', 'sms', shapes.SMS, ({ body }) => {
      findEsim(account, body as OneEsim)
      return answers.success({})
    }),
    at('webhook/save', 'webhook', shapes.WEBHOOK, ({ body }) => {
      events.url = (body as { webhook?: string }).webhook ?? null
      const content = { orderNo: '1234567890', orderStatus: 'Test' }
      events.send([{ body: { notifyType: 'CHECK_HEALTH', content } }])
      return answers.success({})
    }),
    {
      ...at('webhook/query', 'webhook', shapes.NOTHING, () => answers.success({ webhook: events.url ?? '' })),
      isBodyOptional: true,
    },
  ]
}

function balance({ account, clock }: World): Answer {
  return answers.success({ balance: account.balance, lastUpdateTime: answers.timeText(clock.now()) })
}

function locations(account: Account): Answer {
  const coverages = new Map([...account.products.values()].map(({ coverage }) => [coverage.code, coverage]))
  const locationList = [...coverages.values()].map(({ code, name, countries }) => ({
    code,
    name,
    type: code.startsWith('!') ? 2 : 1,
    subLocationList: code.startsWith('!') ? countries.map((each) => ({ code: each, name: countryName(each) })) : null,
  }))
  return answers.success({ locationList })
}

function listPackages({ account, options }: World, { body, catalogue }: Call): Answer {
  const { products, currencyCode } = catalogue()
  const { locationCode, type, packageCode, slug, iccid } = (body ?? {}) as Record<string, string | null | undefined>
  const esim = iccid ? account.getEsim(iccid) : undefined
  const fits = (product: Product) =>
    (product.kind === 'topUp') === (type === 'TOPUP') &&
    (!locationCode || isAt(product, locationCode)) &&
    (!packageCode || product.code === packageCode || (type === 'TOPUP' && product.code === `TOPUP_${packageCode}`)) &&
    (!slug || product.slug === slug) &&
    (!esim || product.coverage.code === esim.order.product.coverage.code)
  const listed = products.filter(fits)
  return answers.success({
    packageList: listed.map((product) => answers.packageEntry(product, currencyCode, options.forms)),
  })
}

function isAt({ coverage }: Product, locationCode: string): boolean {
  if (locationCode === '!RG') return coverage.code.startsWith('!RG')
  return coverage.code === locationCode
}

interface OrderBody {
  transactionId: string
  amount?: number | null
  packageInfoList: {
    packageCode?: string
    slug?: string
    count: number
    price?: number | null
    periodNum?: number | null
  }[]
}

/** One line per order. An order of several packages, which the gateway never sends, is refused. */
function order({ account, options }: World, { body, effects }: Call): Answer {
  const { transactionId, amount, packageInfoList } = body as OrderBody
  const earlier = account.findOrderByKey(transactionId)
  if (earlier && options.repeatedKey === 'refused') throw new Refused('repeated-key', 'The transactionId was used.')
  if (earlier && options.repeatedKey === 'same') return answers.success({ orderNo: earlier.reference, transactionId })
  const [line, second] = packageInfoList
  if (second || !line) return answers.failure('200008', 'Order one package at a time.')
  const product = account.getProduct(line.packageCode || line.slug || '')
  if (product.kind !== 'eSIM') throw new Refused('unknown-package', `${product.code} is a top-up.`)
  const periods = line.periodNum || 1
  if (periods > 1 && !product.isDaily) return answers.failure('200008', 'Only daily packages have a periodNum.')
  if (line.price && line.price !== product.price) throw new Refused('wrong-price', `The price is ${product.price}.`)
  const total = product.price * line.count * periods
  if (amount && amount !== total) throw new Refused('wrong-amount', `The amount is ${total}.`)
  const { reference } = account.buy({ product, key: transactionId, count: line.count, periods }, effects)
  return answers.success({ orderNo: reference, transactionId })
}

interface QueryBody {
  orderNo?: string
  iccid?: string
  esimTranNo?: string
  startTime?: string
  endTime?: string
  pager: { pageNum: number; pageSize: number }
}

function query(world: World, { body }: Call): Answer {
  const { account } = world
  const { orderNo, iccid, esimTranNo, startTime, endTime, pager } = body as QueryBody
  let esims: Esim[]
  if (orderNo) {
    const found = account.getOrder(orderNo)
    if (found.state === 'pending') return PENDING
    if (found.state === 'failed') return answers.failure(ABNORMAL_STATE, 'The order failed.')
    esims = found.esims
  } else if (iccid || esimTranNo) {
    esims = account.esims.filter((esim) => esim.iccid === iccid || esim.esimNo === esimTranNo)
  } else {
    const [from, to] = [Date.parse(startTime ?? ''), Date.parse(endTime ?? '')]
    if (Number.isNaN(from) || Number.isNaN(to)) return answers.failure('000105', 'startTime and endTime are missing.')
    const orders = account.listOrders().filter(({ createdMs }) => createdMs >= from && createdMs <= to + 999)
    const isPending = orders.some(({ state, kind }) => kind === 'eSIM' && state === 'pending')
    if (isPending && world.options.pendingInWindow === 'refused') return PENDING
    esims = orders.flatMap((each) => each.esims)
  }
  const { pageNum, pageSize } = pager
  const rows = esims.slice((pageNum - 1) * pageSize, pageNum * pageSize)
  return answers.success({
    esimList: rows.map((esim) => answers.esimRow(account, esim, world)),
    pager: { pageSize, pageNum, total: esims.length },
  })
}

const ABNORMAL_STATE = '200009'
const PENDING = answers.failure('200010', 'The eSIMs are being allocated.')

interface OneEsim {
  iccid?: string | null
  esimTranNo?: string | null
}

function findEsim(account: Account, { iccid, esimTranNo }: OneEsim): Esim {
  return account.getEsim(esimTranNo || iccid || '')
}

function move(account: Account, esim: Esim, from: Esim['status'][], to: Esim['status']) {
  if (!from.includes(esim.status)) throw new Refused('wrong-state', `eSIM ${esim.iccid} is ${esim.status}.`)
  account.change(esim, { status: to })
}

interface TopUpBody extends OneEsim {
  packageCode?: string
  slug?: string
  transactionId: string
  periodNum?: number | string | null
  amount?: number | null
}

function topUp({ account, options }: World, { body, effects }: Call): Answer {
  const { packageCode, slug, transactionId, periodNum, amount, ...which } = body as TopUpBody
  const target = findEsim(account, which)
  const earlier = account.findOrderByKey(transactionId)
  if (earlier && options.repeatedKey === 'refused') throw new Refused('repeated-key', 'The transactionId was used.')
  if (!earlier || options.repeatedKey === 'bought-again') {
    const product = account.getProduct(packageCode || slug || '')
    if (product.kind !== 'topUp' || product.coverage.code !== target.order.product.coverage.code)
      throw new Refused('unknown-package', `${product.code} does not fit eSIM ${target.iccid}.`)
    if (['CANCEL', 'REVOKED', 'USED_EXPIRED', 'UNUSED_EXPIRED'].includes(target.status)) {
      const message = `eSIM ${target.iccid} is ${target.status}.`
      if (options.forms.has('abnormal-states')) return answers.failure(ABNORMAL_STATE, message)
      throw new Refused('wrong-state', message)
    }
    const periods = Number(periodNum || 1)
    if (periods > 1 && !product.isDaily) return answers.failure('200008', 'Only daily packages have a periodNum.')
    const total = options.forms.has('amount-per-day') ? product.price : product.price * periods
    if (amount && amount !== total) throw new Refused('wrong-amount', `The amount is ${total}.`)
    account.buy({ product, key: transactionId, periods, target }, effects)
  }
  const isOwn = options.forms.has('own-transactions')
  return answers.success({
    transactionId: isOwn ? `W-${target.plans.length}-${target.esimNo}` : transactionId,
    iccid: target.iccid,
    expiredTime: answers.timeText(answers.expiresMs(target)),
    totalVolume: account.totalBytes(target) ?? 0,
    totalDuration: answers.totalDays(target),
    orderUsage: target.usedBytes,
  })
}

function usage({ account, clock }: World, { body }: Call): Answer {
  const { esimTranNoList } = body as { esimTranNoList: string[] }
  const esims = account.esims.filter(({ esimNo }) => esimTranNoList.includes(esimNo))
  return answers.success({
    esimUsageList: esims.map((esim) => ({
      esimTranNo: esim.esimNo,
      dataUsage: esim.usedBytes,
      totalData: account.totalBytes(esim) ?? 0,
      lastUpdateTime: answers.timeText(clock.now()),
    })),
  })
}
