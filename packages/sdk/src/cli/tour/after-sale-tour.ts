import type { PackageOnSale } from '@dealer-esim/contract'
import { type Action, type DealerEsim, newTransactionId } from '#client.ts'
import { sleep } from '#retry.ts'
import { CommandFailed, EXIT, failIfInterrupted } from '../exit-codes.ts'
import { money } from '../output.ts'
import type { TourLog } from './tour-log.ts'

/** The events of an eSIM after its sale. */
export const AFTER_SALE_EVENTS = ['ESIM_USAGE', 'ESIM_EXPIRING', 'ESIM_ACTION_UPDATED', 'BALANCE_LOW'] as const

/** A package of the sandbox whose eSIMs go into use and use up their volume within a minute. */
const USED_PACKAGE = 'SANDBOX_USAGE'
const WAIT_MS = 60_000
const INTERVAL_MS = 1_000

interface Tour {
  esim: DealerEsim
  log: TourLog
  signal: AbortSignal
  /** The package of the eSIM that is cancelled. */
  toCancel: PackageOnSale
  /** Resolves when a usage event of the eSIM has arrived; absent without a receiver. */
  waitForUsage?: (esimTranNo: string) => Promise<void>
}

/** The second part of `tour --full`: top-up, usage, suspend, unsuspend, cancel with refund, statement. */
export async function afterTheSale(tour: Tour): Promise<void> {
  const { esim, log } = tour
  const esimTranNo = await buy(tour, USED_PACKAGE, 'Buy an eSIM that the sandbox puts into use immediately.')
  await topUp(tour, esimTranNo)

  log.step('esim/usage/query', 'Wait until the traveller uses the eSIM, and query its usage.')
  await waitUntilInUse(tour, esimTranNo)
  await tour.waitForUsage?.(esimTranNo)

  log.step('esim/suspend', 'The phone is lost: interrupt the service.')
  await waitForAction(tour, await esim.suspend({ esimTranNo }, { generateTransactionId: true }))
  log.step('esim/unsuspend', 'The phone is found: resume the service.')
  await waitForAction(tour, await esim.unsuspend({ esimTranNo }, { generateTransactionId: true }))

  const unused = await buy(tour, tour.toCancel.packageCode, 'Buy an eSIM that nobody downloads.')
  log.step('esim/cancel', 'Cancel it. The refund posts when the supplier has confirmed.')
  await waitForAction(tour, await esim.cancel({ esimTranNo: unused }, { generateTransactionId: true }))

  log.step('account/statement', 'See all of it in the statement: debits, the top-up and the refund.')
  await esim.statement({ pageSize: 10 })
}

/** @returns the eSIM */
async function buy({ esim, log, signal }: Tour, packageCode: string, message: string): Promise<string> {
  failIfInterrupted(signal, 'buying eSIMs')
  log.step('esim/order', message)
  const transactionId = newTransactionId()
  const { orderNo } = await esim.order({ transactionId, packageInfoList: [{ packageCode, count: 1 }] })
  const { orderStatus, profileList } = await log.quietly(() => esim.waitForOrder({ orderNo }, { signal }))
  log.note(`The order is ${orderStatus}.`)
  const [profile] = profileList
  if (profile === undefined) throw new CommandFailed(`Order ${orderNo} delivered no eSIM.`, EXIT.REFUSED)
  return profile.esimTranNo
}

async function topUp({ esim, log, signal }: Tour, esimTranNo: string): Promise<void> {
  failIfInterrupted(signal, 'topping up an eSIM')
  log.step('package/list', 'List the packages that fit the eSIM.')
  const { packageList } = await esim.packages({ type: 'TOPUP', esimTranNo })
  const onSale = packageList.filter((each) => each.status === 'ON_SALE')
  const chosen = onSale.find(({ packageCode }) => packageCode === 'SANDBOX_TOPUP') ?? onSale[0]
  if (chosen === undefined) throw new CommandFailed('No package tops up this eSIM.', EXIT.REFUSED)
  log.step('esim/topup', `Add ${chosen.name} for ${money(chosen.price, chosen.currencyCode)}.`)
  const request = { transactionId: newTransactionId(), esimTranNo, packageCode: chosen.packageCode }
  const { orderNo } = await esim.topup(request)
  const { orderStatus } = await log.quietly(() => esim.waitForOrder({ orderNo }, { signal }))
  log.note(`The top-up is ${orderStatus}.`)
}

async function waitUntilInUse({ esim, signal }: Tour, esimTranNo: string): Promise<void> {
  await poll(signal, `eSIM ${esimTranNo} to be in use`, async () => {
    const { esimUsageList } = await esim.usage({ esimTranNoList: [esimTranNo] })
    return esimUsageList[0]?.esimStatus === 'IN_USE'
  })
}

async function waitForAction({ esim, log, signal }: Tour, { actionNo }: Action): Promise<void> {
  log.step('esim/action/query', 'Query the action until it has ended.')
  await poll(signal, `action ${actionNo} to end`, async () => {
    const { actionStatus, refundAmount, currencyCode } = await esim.action({ actionNo })
    if (actionStatus === 'PENDING') return false
    const refund = refundAmount === 0 ? '' : `, with a refund of ${money(refundAmount, currencyCode)}`
    log.note(`The action is ${actionStatus}${refund}.`)
    return true
  })
}

async function poll(signal: AbortSignal, subject: string, isDone: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS
  while (!(await isDone())) {
    failIfInterrupted(signal, `waiting for ${subject}`)
    if (performance.now() > end) {
      throw new CommandFailed(`Timed out after ${WAIT_MS / 1000} s while waiting for ${subject}.`, EXIT.OUTCOME_UNKNOWN)
    }
    await sleep(INTERVAL_MS, signal)
  }
}
