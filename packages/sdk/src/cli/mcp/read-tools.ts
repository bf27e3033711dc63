import { ESIM_STATUSES, ORDER_STATUSES, type PackageOnSale, STATEMENT_KINDS } from '@dealer-esim/contract'
import { z } from 'zod'
import { printable } from '../output.ts'
import { amountText, budgetOf, codesOf, shownAction, shownEsim, shownOrder, shownPackage } from './shown.ts'
import { type Agent, addTool, ToolRefusal } from './tool.ts'

/** Rows of an answer: a model reads them all. */
const PAGE_DEFAULT = 20
const PAGE_MAX = 100
const page = {
  pageSize: z.number().int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT),
  cursor: z.string().optional().describe('nextCursor of the page before'),
}
const time = (what: string) => z.string().optional().describe(`${what}, such as 2026-11-20T00:00:00.000Z`)

/** Tools that only read. None of their answers contains an activation code. */
export function addReadTools(agent: Agent): void {
  addCatalogueTools(agent)
  addAccountTools(agent)
  addOrderTools(agent)
  addEsimTools(agent)
}

function addCatalogueTools(agent: Agent): void {
  const { esim } = agent
  addTool(
    agent,
    {
      name: 'packages',
      description: 'Packages that can be bought now, with prices and the countries that they cover.',
    },
    {
      packageCode: z.string().optional(),
      coversAll: z
        .array(z.string())
        .optional()
        .describe('Only packages that cover every one of these countries: ISO 3166-1 alpha-2, such as ["JP", "KR"]'),
      volumeMinBytes: z.number().int().optional(),
      durationMinDays: z.number().int().optional(),
      keyword: z.string().optional(),
      topUpOf: z.string().optional().describe('esimTranNo: instead, the packages that top up this eSIM'),
      ...page,
    },
    async ({ volumeMinBytes, durationMinDays, topUpOf, ...filter }) => {
      const answer = await esim.packages({
        ...defined(filter),
        ...defined({ volumeMin: volumeMinBytes, durationMin: durationMinDays }),
        ...(topUpOf === undefined ? {} : { type: 'TOPUP', esimTranNo: topUpOf }),
      })
      const packages = answer.packageList.filter((each): each is PackageOnSale => each.status === 'ON_SALE')
      return { packages: packages.map(shownPackage), nextCursor: answer.nextCursor }
    },
  )
  addTool(
    agent,
    { name: 'locations', description: 'Countries and regions, with their codes and their names in a language.' },
    { language: z.string().optional().describe('BCP 47, such as en or ja') },
    async (request) => {
      const { locationList } = await esim.locations(defined(request))
      return { locations: locationList.map(({ locationCode, name }) => [locationCode, printable(name)]) }
    },
  )
}

function addAccountTools(agent: Agent): void {
  const { esim } = agent
  addTool(
    agent,
    {
      name: 'balance',
      description: 'What the account has, what this key may still spend, and whether it is a test account.',
    },
    {},
    async () => {
      const { balance, availableBalance, currencyCode } = await esim.balance()
      const health = await esim.health()
      return {
        ...{ mode: health.mode, keyLabel: health.keyLabel, balance: amountText(balance, currencyCode) },
        availableBalance: amountText(availableBalance, currencyCode),
        keyBudget: budgetOf(health, currencyCode),
      }
    },
  )
  addTool(
    agent,
    { name: 'statement', description: 'The debits, refunds, payments and adjustments of the balance, newest first.' },
    {
      kind: z.enum(STATEMENT_KINDS).optional(),
      startTime: time('At this time or later'),
      endTime: time('Before this time'),
      ...page,
    },
    async (request) => {
      const { entryList, nextCursor } = await esim.statement(defined(request))
      const entries = entryList.map(({ amount, balanceAfter, currencyCode, reference, ...entry }) => ({
        ...{ entryNo: entry.entryNo, kind: entry.kind, amount: amountText(amount, currencyCode) },
        ...{ balanceAfter: amountText(balanceAfter, currencyCode), orderNo: entry.orderNo },
        ...{ transactionId: entry.transactionId, esimTranNo: entry.esimTranNo, actionNo: entry.actionNo },
        reference: reference === null ? null : printable(reference),
        ...{ keyLabel: entry.keyLabel, createTime: entry.createTime },
      }))
      return { entries, nextCursor }
    },
  )
}

function addOrderTools(agent: Agent): void {
  const { esim } = agent
  addTool(
    agent,
    { name: 'orders', description: 'Orders and top-ups, newest first.' },
    {
      orderStatus: z.enum(ORDER_STATUSES).optional(),
      startTime: time('Placed at this time or later'),
      endTime: time('Placed before this time'),
      ...page,
    },
    async (request) => {
      const { orderList, nextCursor } = await esim.orders(defined(request))
      return { orders: orderList.map(shownOrder), nextCursor }
    },
  )
  addTool(
    agent,
    { name: 'order', description: 'One order or top-up, with its eSIMs and the history of its status.' },
    { orderNo: z.string().optional(), transactionId: z.string().optional() },
    async (which) => {
      const order = await esim.query(defined(which))
      const { profileList, statusHistory } = order
      return { ...shownOrder(order), esims: profileList.map(shownEsim), statusHistory }
    },
  )
}

function addEsimTools(agent: Agent): void {
  const { esim } = agent
  addTool(
    agent,
    { name: 'esims', description: 'eSIMs, newest first, without activation codes.' },
    {
      orderNo: z.string().optional(),
      esimTranNo: z.string().optional(),
      iccid: z.string().optional(),
      esimStatus: z.enum(ESIM_STATUSES).optional(),
      ...page,
    },
    async (request) => {
      const { profileList, nextCursor } = await esim.profiles(defined(request))
      return { esims: profileList.map(shownEsim), nextCursor }
    },
  )
  addTool(
    agent,
    { name: 'usage', description: 'Data usage, expiry and status of eSIMs, as the supplier last reported them.' },
    { esimTranNoList: z.array(z.string()).min(1).max(PAGE_MAX) },
    async ({ esimTranNoList }) => {
      const { esimUsageList, notFound } = await esim.usage({ esimTranNoList })
      const usage = esimUsageList.map((each) => ({
        ...{ esimTranNo: each.esimTranNo, esimStatus: each.esimStatus, suspended: each.suspended },
        ...{ totalVolumeBytes: each.totalVolume, usedBytes: each.orderUsage, remainingBytes: each.remaining },
        ...{ usageUpdateTime: each.usageUpdateTime, expiredTime: each.expiredTime },
      }))
      return { usage, notFound }
    },
  )
  addTool(
    agent,
    { name: 'action', description: 'The state of a cancellation, by the transactionId of its receipt.' },
    { transactionId: z.string() },
    async (which) => shownAction(await esim.action(which)),
  )
}

/** The only tool that answers activation codes, of one eSIM at a time. */
export function addCodesTool(agent: Agent): void {
  addTool(
    agent,
    {
      name: 'esim_codes',
      description:
        'The activation code and links of one eSIM. Anybody who has them can take the line: give them to its traveller only.',
    },
    { esimTranNo: z.string() },
    async (which) => {
      const [profile] = (await agent.esim.profiles(which)).profileList
      if (profile === undefined) throw new ToolRefusal('No such eSIM. The tool esims lists them.')
      return codesOf(profile)
    },
  )
}

type Defined<Input> = { [Name in keyof Input]: Exclude<Input[Name], undefined> }

/** Without the members that are undefined. */
export function defined<Input extends object>(input: Input): Defined<Input> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Defined<Input>
}
