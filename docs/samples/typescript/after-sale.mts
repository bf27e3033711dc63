// Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.
// Usage: npx tsx after-sale.mts topup ESIM PACKAGE_CODE TRANSACTION_ID
//        npx tsx after-sale.mts cancel ESIM TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
import { setTimeout as sleep } from 'node:timers/promises'
import { DealerEsim, DealerEsimError } from '@dealer-esim/sdk'

const [command = '', ...args] = process.argv.slice(2)
if (!(command === 'topup' && args.length === 3) && !(command === 'cancel' && args.length === 2)) {
  console.error('Usage: npx tsx after-sale.mts topup ESIM PACKAGE_CODE TRANSACTION_ID')
  console.error('       npx tsx after-sale.mts cancel ESIM TRANSACTION_ID')
  process.exit(2)
}
const { DEALER_ESIM_BASE_URL = '', DEALER_ESIM_APP_KEY = '', DEALER_ESIM_APP_SECRET = '' } = process.env
const esim = new DealerEsim({
  baseUrl: DEALER_ESIM_BASE_URL,
  appKey: DEALER_ESIM_APP_KEY,
  appSecret: DEALER_ESIM_APP_SECRET,
})
// Retries use a new RequestID and the same transactionId, so nothing happens twice. Accepted is not done: the supplier is asked
// after the answer. A real shop waits for the event instead.
async function topUp([esimTranNo = '', packageCode = '', transactionId = '']: string[]) {
  const accepted = await esim.topup({ transactionId, esimTranNo, packageCode })
  if (accepted.orderStatus === 'DELIVERED') return { data: accepted, isDone: true }
  const data = await esim.waitForOrder({ transactionId }, { waitMs: 30_000 })
  return { data, isDone: data.orderStatus === 'DELIVERED' }
}

async function cancel([esimTranNo = '', transactionId = '']: string[]) {
  let data = await esim.cancel({ transactionId, esimTranNo })
  for (let number = 0; number < 30 && data.actionStatus === 'PENDING'; number++) {
    await sleep(1_000)
    data = { ...data, ...(await esim.action({ transactionId })) }
  }
  return { data, isDone: data.actionStatus === 'DONE' }
}

try {
  const { data, isDone } = await (command === 'topup' ? topUp(args) : cancel(args))
  console.log(JSON.stringify({ code: '000000', data }))
  process.exitCode = isDone ? 0 : 1
} catch (error) {
  if (!(error instanceof DealerEsimError)) throw error
  console.log(JSON.stringify({ code: error.code, message: error.message, data: error.data }))
  process.exitCode = 1
}
