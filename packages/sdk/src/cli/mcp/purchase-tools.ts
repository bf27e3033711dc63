import { type OrderDryRunAnswer, parseMoney, type TopupDryRunAnswer } from '@dealer-esim/contract'
import { z } from 'zod'
import type { Order, Topup } from '#client.ts'
import { DealerEsimError } from '#error.ts'
import { printable } from '../output.ts'
import { CONFIRMATION_VALID_MS, checkConfirmation, confirm, type Purchase } from './confirmation.ts'
import { defined } from './read-tools.ts'
import { amountText, budgetOf, shownAction, shownEsim } from './shown.ts'
import { type Agent, addTool, ToolRefusal } from './tool.ts'

const line = z.strictObject({
  packageCode: z.string(),
  count: z.number().int().min(1),
  periodNum: z.number().int().min(1).optional().describe('Of a day pass: how many days'),
})
const lines = z.array(line).min(1)
const topUp = {
  esimTranNo: z.string().describe('The eSIM to top up'),
  packageCode: z.string().describe('A package that tops it up: the tool packages lists them by topUpOf'),
  periodNum: z.number().int().min(1).optional().describe('Of a day pass: how many days'),
}
const confirmed = {
  amount: z.string().describe('The amount of the quote, unchanged, such as "9.00 USD"'),
  confirmation: z.string().describe('The confirmation of the quote'),
}

/**
 * `quote` asks the gateway what a purchase would debit, and buys nothing. Its confirmation is what `buy`, `top_up` and `cancel`
 * need, so they exist only together.
 */
export function addQuoteTool(agent: Agent, { allowOrders }: { allowOrders: boolean }): void {
  const withConfirmation = (purchase: Purchase) => {
    if (!allowOrders)
      return { confirmation: null, note: 'This server may not buy: it was started without --allow-orders.' }
    const nowMs = agent.nowMs()
    return {
      confirmation: confirm(agent.key, purchase, nowMs),
      validUntil: new Date(nowMs + CONFIRMATION_VALID_MS).toISOString(),
      next: `Nothing is bought or reserved yet. Call ${purchase.tool} with the same members.`,
    }
  }
  addTool(
    agent,
    {
      name: 'quote',
      description:
        'What a purchase would cost or a cancellation would end, checked by the gateway. Buys and reserves nothing. Give exactly one of buy, topUp and cancel.',
    },
    {
      buy: lines.optional().describe('New eSIMs'),
      topUp: z.strictObject(topUp).optional(),
      cancel: z.strictObject({ esimTranNo: z.string() }).optional(),
    },
    async (asked) => {
      if (Object.keys(defined(asked)).length !== 1) throw new ToolRefusal('Give exactly one of buy, topUp and cancel.')
      if (asked.cancel) return quoteCancel(agent, asked.cancel.esimTranNo, withConfirmation)
      const dryRun = asked.buy
        ? await agent.esim.quote({ packageInfoList: asked.buy.map(defined) })
        : await agent.esim.quoteTopup(defined(asked.topUp!))
      const amount = amountText(dryRun.amount, dryRun.currencyCode)
      const purchase = asked.buy ? buying(asked.buy, amount) : toppingUp(asked.topUp!, amount)
      return { tool: purchase.tool, amount, ...shownDryRun(dryRun), ...withConfirmation(purchase) }
    },
  )
}

async function quoteCancel(agent: Agent, esimTranNo: string, withConfirmation: (of: Purchase) => object) {
  const [profile] = (await agent.esim.profiles({ esimTranNo })).profileList
  if (profile === undefined) throw new ToolRefusal('No such eSIM. The tool esims lists them.')
  if (profile.esimStatus !== 'GOT_RESOURCE') {
    throw new ToolRefusal(`The eSIM is ${profile.esimStatus}. Only an eSIM that was never used can be cancelled.`)
  }
  return {
    ...{ tool: 'cancel', esim: shownEsim(profile) },
    refund:
      'Its price, less the fee of the cancel policy at the time of the order. The tool action shows it once it is done.',
    ...withConfirmation({ tool: 'cancel', esimTranNo }),
  }
}

/** The tools that spend or end something. */
export function addPurchaseTools(agent: Agent): void {
  const { esim } = agent
  addTool(
    agent,
    { name: 'buy', description: 'Buys new eSIMs, exactly as quoted. Repeating it never buys twice.', effect: 'buys' },
    { packages: lines, ...confirmed },
    async ({ packages, amount, confirmation }) => {
      const request = { packageInfoList: packages.map(defined) }
      const checked = check(agent, confirmation, buying(packages, amount))
      return purchase(agent, checked, amount, {
        execute: (members) => esim.order({ ...request, ...members }),
        find: (members) => esim.quote({ ...request, ...members }),
      })
    },
  )
  addTool(
    agent,
    {
      name: 'top_up',
      description: 'Tops up an eSIM, exactly as quoted. Repeating it never debits twice.',
      effect: 'buys',
    },
    { ...topUp, ...confirmed },
    async ({ amount, confirmation, ...asked }) => {
      const checked = check(agent, confirmation, toppingUp(asked, amount))
      return purchase(agent, checked, amount, {
        execute: (members) => esim.topup({ ...defined(asked), ...members }),
        find: (members) => esim.quoteTopup({ ...defined(asked), ...members }),
      })
    },
  )
  addTool(
    agent,
    {
      name: 'cancel',
      description: 'Cancels an unused eSIM, as quoted. It is refunded once its supplier has cancelled it.',
      effect: 'cancels',
    },
    { esimTranNo: z.string(), confirmation: confirmed.confirmation },
    async ({ esimTranNo, confirmation }) => {
      const { transactionId, isExpired } = check(agent, confirmation, { tool: 'cancel', esimTranNo })
      const action = isExpired
        ? { ...(await orExpired(esim.action({ transactionId }))), replayed: true }
        : await esim.cancel({ esimTranNo, transactionId })
      const { replayed } = action
      return { receipt: { ...shownAction(action), replayed, ...(await budget(agent, action.currencyCode)) } }
    },
  )
}

/** Lines in one sequence: an order is the same in any. */
function buying(packages: z.infer<typeof lines>, amount: string): Purchase {
  const sorted = packages.map(({ packageCode, count, periodNum = null }) => ({ packageCode, count, periodNum }))
  sorted.sort((a, b) => (a.packageCode < b.packageCode ? -1 : 1))
  return { tool: 'buy', packages: sorted, amount }
}

function toppingUp(
  asked: { esimTranNo: string; packageCode: string; periodNum?: number | undefined },
  amount: string,
): Purchase {
  const { esimTranNo, packageCode, periodNum = null } = asked
  return { tool: 'top_up', esimTranNo, packageCode, periodNum, amount }
}

interface Confirmed {
  transactionId: string
  isExpired: boolean
}

function check({ key, nowMs }: Agent, confirmation: string, purchase: Purchase): Confirmed {
  const checked = checkConfirmation(key, confirmation, purchase, nowMs())
  if (checked) return checked
  const advice = 'Call quote, and repeat its members unchanged. Nothing was bought.'
  throw new ToolRefusal(`This confirmation was not given for exactly this ${purchase.tool}. ${advice}`)
}

interface Steps {
  execute(members: { transactionId: string; amount: number }): Promise<Order | Topup>
  /** A dry run with a transactionId that is taken answers its order. */
  find(members: { transactionId: string }): Promise<Order | Topup | OrderDryRunAnswer | TopupDryRunAnswer>
}

/**
 * Buys under the transactionId of the quote. The gateway refuses another amount than the confirmed one (`200006`), and answers
 * a repeat with the first order. An expired confirmation only finds what it has bought.
 */
async function purchase(agent: Agent, { transactionId, isExpired }: Confirmed, amount: string, steps: Steps) {
  const [units = ''] = amount.split(' ')
  const order = isExpired
    ? await steps.find({ transactionId })
    : await steps.execute({ transactionId, amount: Number(parseMoney(units)) })
  if ('validateOnly' in order) throw new ToolRefusal(EXPIRED)
  const { orderNo, orderType, orderStatus, currencyCode, replayed } = order
  return {
    receipt: {
      ...{ orderNo, transactionId, orderType, orderStatus, replayed, amount: amountText(order.amount, currencyCode) },
      balanceAfter: amountText(order.balanceAfter, currencyCode),
      ...(await budget(agent, currencyCode)),
    },
    next: replayed
      ? 'This confirmation had bought already: nothing was debited again.'
      : 'The tool order shows whether it is delivered.',
  }
}

const EXPIRED = 'The confirmation has expired, and nothing was bought or cancelled with it. Call quote again.'

async function orExpired<Answer>(found: Promise<Answer>): Promise<Answer> {
  try {
    return await found
  } catch (error) {
    throw error instanceof DealerEsimError && error.is('200013') ? new ToolRefusal(EXPIRED) : error
  }
}

/** The key, and what it may still spend. What was bought is bought even if this cannot be read. */
async function budget({ esim }: Agent, currencyCode: string) {
  try {
    const health = await esim.health()
    return { mode: health.mode, keyLabel: health.keyLabel, keyBudget: budgetOf(health, currencyCode) }
  } catch (error) {
    return { keyBudget: `could not be read: ${error instanceof DealerEsimError ? error.code : 'unexpected answer'}` }
  }
}

function shownDryRun({ balanceAfter, currencyCode, packageInfoList }: OrderDryRunAnswer | TopupDryRunAnswer) {
  return {
    balanceAfter: amountText(balanceAfter, currencyCode),
    packages: packageInfoList.map(({ packageCode, packageName, count, price, periodNum, available }) => ({
      ...{ packageCode, name: printable(packageName), count, price: amountText(price, currencyCode) },
      ...{ periodNum, available },
    })),
  }
}
