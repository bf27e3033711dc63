import { FINAL_ORDER_STATUSES, type Notification, type PackageOnSale } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { type DealerEsim, newTransactionId } from '#client.ts'
import { sleep } from '#retry.ts'
import { nodeWebhook } from '#webhooks/handlers.ts'
import { integer } from '../arguments.ts'
import { describeEvent } from '../commands/listen.ts'
import { failureMessage, type Receiver, restoreWebhook, startReceiver } from '../commands/receiver.ts'
import type { Context } from '../context.ts'
import { CommandFailed, EXIT, failIfInterrupted } from '../exit-codes.ts'
import { money } from '../output.ts'
import { AFTER_SALE_EVENTS, afterTheSale } from './after-sale-tour.ts'
import { type TourLog, tourLog } from './tour-log.ts'

interface Options {
  packageCode?: string
  callbackUrl?: string
  port: number
  yes?: boolean
  full?: boolean
}

const EVENTS_WAIT_MS = 60_000

/** `tour`: a first order step by step, with all requests and answers. */
export function tourCommand(program: Command, context: () => Context): void {
  program
    .command('tour')
    .description('place a first order step by step; shows each request, the signed text and each answer')
    .option('--package-code <code>', 'the package to buy; the cheapest by default')
    .option('--callback-url <url>', 'the URL at which the gateway reaches this receiver, such as a tunnel to --port')
    .option('--port <port>', 'the port of the receiver for events; a free port by default', integer(0, 65535), 0)
    .option('--full', 'also top up, use, suspend, unsuspend and cancel eSIMs, on the sandbox; takes about a minute')
    .option('--yes', 'allow buying two eSIMs on a gateway that is not on this machine')
    .addHelpText('after', TOUR_HELP)
    .action(async (options: Options) => {
      const current = context()
      const { baseUrl } = current.credentials()
      if (!isLocal(baseUrl) && !options.yes) {
        const count = options.full ? 'four' : 'two'
        const message = `The tour buys ${count} eSIMs, and ${baseUrl} is not on this machine. Add --yes to confirm.`
        throw new CommandFailed(message, EXIT.USAGE)
      }
      const log = tourLog(current)
      const esim = current.client({ observe: log.observe })
      const bought = await firstOrder(esim, log, current, options)
      await events(esim, log, current, options, bought)
      log.end()
    })
}

async function firstOrder(esim: DealerEsim, log: TourLog, { io }: Context, options: Options): Promise<PackageOnSale> {
  log.step('health', 'Check the connection and the credentials.')
  await esim.health()

  log.step('account/balance', 'Get the balance.')
  const account = await esim.balance()

  log.step('package/list', 'List packages and prices.')
  const filter = options.packageCode === undefined ? { pageSize: 20 } : { packageCode: options.packageCode }
  const { packageList, nextCursor } = await esim.packages(filter)
  const onSale = packageList.filter((each) => each.status === 'ON_SALE')
  // Only one short page is shown, but the cheapest package may be on any page.
  if (nextCursor !== null) {
    await log.quietly(async () => {
      for await (const each of esim.eachPackage({ pageSize: 500 })) onSale.push(each)
    })
  }
  const chosen = cheapest(onSale)
  const price = money(chosen.price, chosen.currencyCode)
  log.note(`Selected: ${chosen.packageCode}, ${chosen.name}, for ${price}.`)
  if (chosen.price > account.availableBalance) {
    throw new CommandFailed(`The balance does not cover ${price}. Ask the operator to top it up first.`, EXIT.REFUSED)
  }

  log.step('esim/order', 'Buy one. We choose the transactionId; repeating it would never debit twice.')
  const order = await esim.order({
    transactionId: newTransactionId(),
    packageInfoList: [{ packageCode: chosen.packageCode, count: 1, price: chosen.price }],
  })

  log.step('esim/query', 'Query the order until it is complete.')
  const { orderStatus } = await esim.waitForOrder({ orderNo: order.orderNo }, { signal: io.interrupted })
  log.note(`The order is ${orderStatus}.`)

  log.step('esim/profile/list', 'Get the eSIMs of the order, with the data that a traveller needs to install them.')
  await esim.profiles({ orderNo: order.orderNo })
  return chosen
}

/** Starts and sets a receiver, orders once more, waits for the events, and restores the webhook setting. */
async function events(esim: DealerEsim, log: TourLog, current: Context, options: Options, bought: PackageOnSale) {
  const { baseUrl } = current.credentials()
  if (!isLocal(baseUrl) && options.callbackUrl === undefined) {
    log.step('webhook/set', 'Read the webhook setting.')
    await esim.setWebhook()
    log.note(`${baseUrl} cannot reach this machine. Add --callback-url and --port to receive events.`)
    if (options.full) await afterTheSale({ esim, log, signal: current.io.interrupted, toCancel: bought })
    return
  }
  // Read before the receiver starts: if this failed later, the open receiver would keep the process alive.
  const before = await log.quietly(() => esim.setWebhook())
  const inbox = eventInbox()
  const receiver = await receive(current, log, inbox, options.port)
  const callbackUrl = options.callbackUrl ?? receiver.url
  const transactionId = newTransactionId()
  try {
    log.step('webhook/set', 'Have events sent to a receiver that was started here. It must answer a test event first.')
    const eventTypes = ['ORDER_PAID', 'DELIVERY_UPDATED', ...(options.full ? AFTER_SALE_EVENTS : [])] as const
    await esim.setWebhook({ callbackUrl, enabled: true, eventTypes: [...eventTypes] })
    failIfInterrupted(current.io.interrupted, 'setting the webhook')
    log.step('esim/order', 'Order once more, now with events.')
    await esim.order({ transactionId, packageInfoList: [{ packageCode: bought.packageCode, count: 1 }] })
    await inbox.complete(transactionId, current.io.interrupted)
    if (options.full) {
      const signal = current.io.interrupted
      const waitForUsage = (esimTranNo: string) => inbox.usage(esimTranNo, signal)
      await afterTheSale({ esim, log, signal, toCancel: bought, waitForUsage })
    }
  } finally {
    // The receiver is about to close, so the setting must not point to it.
    log.note(await log.quietly(() => restoreWebhook(esim, before, callbackUrl)))
    await receiver.close()
  }
}

function receive({ credentials, io }: Context, log: TourLog, inbox: EventInbox, port: number): Promise<Receiver> {
  const handle = nodeWebhook({
    appSecret: credentials().appSecret,
    onEvent: (event) => {
      log.event(event, describeEvent(event))
      inbox.add(event)
    },
    onRefused: (error) => log.note(error.message),
    onError: (error) => io.err(failureMessage(error)),
  })
  return startReceiver({ host: '127.0.0.1', port, path: '/' }, handle, io.err)
}

interface EventInbox {
  add(event: Notification): void
  /** Resolves when the order's first and last events have arrived. @throws CommandFailed after Ctrl-C, or after a minute */
  complete(transactionId: string, signal: AbortSignal): Promise<void>
  /** Resolves when a usage event of the eSIM has arrived. @throws CommandFailed after Ctrl-C, or after a minute */
  usage(esimTranNo: string, signal: AbortSignal): Promise<void>
}

function eventInbox(): EventInbox {
  const seen: Notification[] = []
  let arrived = new AbortController()
  const isLast = (event: Notification, transactionId: string) =>
    event.notifyType === 'DELIVERY_UPDATED' &&
    event.content.transactionId === transactionId &&
    (FINAL_ORDER_STATUSES as readonly string[]).includes(event.content.orderStatus)
  const isPaid = (event: Notification, transactionId: string) =>
    event.notifyType === 'ORDER_PAID' && event.content.transactionId === transactionId
  return {
    add(event) {
      seen.push(event)
      arrived.abort()
    },
    complete(transactionId, signal) {
      const wanted = [isLast, isPaid].map((matches) => (event: Notification) => matches(event, transactionId))
      return wait(wanted, `the events of order ${transactionId}`, signal)
    },
    usage(esimTranNo, signal) {
      const isUsage = (event: Notification) =>
        event.notifyType === 'ESIM_USAGE' && event.content.esimTranNo === esimTranNo
      return wait([isUsage], `a usage event of eSIM ${esimTranNo}`, signal)
    },
  }

  async function wait(wanted: ((event: Notification) => boolean)[], subject: string, signal: AbortSignal) {
    const end = performance.now() + EVENTS_WAIT_MS
    for (;;) {
      if (wanted.every((matches) => seen.some(matches))) return
      failIfInterrupted(signal, `waiting for ${subject}`)
      const leftMs = end - performance.now()
      if (leftMs <= 0) {
        const message = `Timed out after ${EVENTS_WAIT_MS / 1000} s while waiting for ${subject}.`
        const advice = 'Check that a node of the gateway runs the worker role.'
        throw new CommandFailed(`${message} ${advice}`, EXIT.OUTCOME_UNKNOWN)
      }
      arrived = new AbortController()
      await sleep(leftMs, AbortSignal.any([arrived.signal, signal]))
    }
  }
}

/** Skips the sandbox's SANDBOX_ packages, which fail on purpose. */
function cheapest(packages: readonly PackageOnSale[]): PackageOnSale {
  const [first] = packages
    .filter((each) => packages.length === 1 || !each.packageCode.startsWith('SANDBOX_'))
    .toSorted((left, right) => left.price - right.price)
  if (first === undefined) {
    throw new CommandFailed('There is no package to buy. Ask the operator for prices in your currency.', EXIT.REFUSED)
  }
  return first
}

function isLocal(baseUrl: string): boolean {
  return /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/.test(baseUrl)
}

const TOUR_HELP = `
The tour buys two eSIMs of the cheapest package and restores the webhook setting afterwards. With --full it buys two more
and a top-up.

Examples:
  $ dealer-esim tour
  $ dealer-esim tour --package-code JP_1_7 --json
  $ dealer-esim tour --full`
