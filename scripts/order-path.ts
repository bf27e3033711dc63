// npm run order-path: lists the files from a dealer's order to its acknowledged event.
//
// Starts a local gateway whose functions report their entries, places two orders through the signed API (the first is
// decided under its wallet's lock, the second on the cached wallet), and waits until their DELIVERY_UPDATED events are
// acknowledged. It prints:
//
//   path       the source files of which a function ran meanwhile that does not run in an idle gateway
//   closure    what these files, and those of the hand-offs, import at run time, statically or dynamically, types left out
//   hand-offs  of the second order, from the handler of its request to the statement that debits its wallet: the distinct
//              calls from one file into another, in the order in which they happen. A call of the same pair of files counts
//              once; returning does not count.

import { fork } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import ts from 'typescript'

interface Entry {
  file: string
  name: string
  caller: string | undefined
}

interface Access {
  baseUrl: string
  appKey: string
  appSecret: string
}

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const PACKAGES = join(ROOT, 'packages')
/** The handlers of orders. */
const HANDLERS = 'gateway/http/dealer/dealer-orders.ts'
/** How long the idle gateway is traced: its loops run every few seconds. */
const IDLE_MIN_MS = 12_000
const ARROW = ' → '

await main()

async function main(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'order-path-'))
  const receiver = await startReceiver()
  const gateway = fork(join(PACKAGES, 'gateway/src/main.ts'), [], {
    execArgv: ['--import', 'tsx', '--import', join(ROOT, 'scripts/order-path-trace.mjs')],
    env: { ...process.env, DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '0', CONSOLE: 'off', LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    const access = await accessOf(dataDir)
    await call(access, 'webhook/set', { callbackUrl: receiver.url })
    await delay(3_000) // until the start has finished
    const idle = await traced(gateway, () => delay(IDLE_MIN_MS))
    const first = await traced(gateway, () => order(access, receiver))
    const second = await traced(gateway, () => order(access, receiver))
    report(idle, first, second)
  } finally {
    gateway.kill()
    await once(gateway, 'exit')
    receiver.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function accessOf(dataDir: string): Promise<Access> {
  const file = join(dataDir, 'local.json')
  while (!existsSync(file)) await delay(100)
  await delay(100)
  return JSON.parse(readFileSync(file, 'utf8'))
}

async function traced(gateway: ReturnType<typeof fork>, work: () => Promise<unknown>): Promise<Entry[]> {
  gateway.send('start')
  await work()
  gateway.send('take')
  const [entries] = (await once(gateway, 'message')) as [Entry[]]
  return entries.map(({ file, name, caller }) => ({ name, file: shortOf(file), caller: caller && shortOf(caller) }))
}

/** `gateway/orders/refund.ts`. */
function shortOf(path: string): string {
  return path.replace(/^.*packages\/([a-z-]+)\/src\//, '$1/')
}

/** A receiver that acknowledges every event and reports when an order is delivered. */
async function startReceiver() {
  const delivered = new Map<string, () => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { notifyType, content } = JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(200).end()
      if (notifyType === 'DELIVERY_UPDATED' && content.orderStatus === 'DELIVERED')
        delivered.get(content.transactionId)?.()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    delivered: (transactionId: string) => new Promise<void>((resolve) => delivered.set(transactionId, resolve)),
    close: () => server.close(),
  }
}

async function order(access: Access, receiver: Awaited<ReturnType<typeof startReceiver>>): Promise<void> {
  const transactionId = randomUUID()
  const delivered = receiver.delivered(transactionId)
  await call(access, 'esim/order', { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
  await delivered
  await delay(500) // until the acknowledgement is saved
}

async function call({ baseUrl, appKey, appSecret }: Access, operation: string, request: object): Promise<void> {
  const [body, timestamp, requestId] = [JSON.stringify(request), String(Date.now()), randomUUID()]
  const signature = createHmac('sha256', appSecret).update(`${timestamp}${requestId}${appKey}${body}`).digest('hex')
  const response = await fetch(`${baseUrl}/open-api/v1/${operation}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'RT-AccessCode': appKey,
      'RT-RequestID': requestId,
      'RT-Timestamp': timestamp,
      'X-Signature': signature,
    },
    body,
  })
  const answer = (await response.json()) as { code: string; message: string }
  if (answer.code !== '000000') throw new Error(`${operation} answered ${answer.code}: ${answer.message}`)
}

function report(idle: Entry[], first: Entry[], second: Entry[]): void {
  const keyOf = ({ file, name }: Entry) => `${file} ${name}`
  const idleFunctions = new Set(idle.map(keyOf))
  const path = [
    ...new Set([...first, ...second].filter((entry) => !idleFunctions.has(keyOf(entry))).map(({ file }) => file)),
  ]
  const handOffs = handOffsToDebit(second)
  // Files that also run in an idle gateway are not on the path, but an order needs those that it is handed to.
  const closure = importClosure([...path, ...handOffs.flatMap((call) => call.split(ARROW))])
  print('path: files of which a function ran for an order, and not in an idle gateway', path)
  print('closure: files that these import besides', closure.filter((file) => !path.includes(file)).sort())
  print('hand-offs from the handler of the order to its debit', handOffs)
  const inModules = handOffs.filter((call) => !call.includes('lib/')).length
  console.log(`${path.length} files on the path, ${closure.length} with what they import`)
  console.log(`${handOffs.length} hand-offs up to the debit, ${inModules} of them between files outside lib`)
}

function print(title: string, lines: readonly string[]): void {
  console.log(`${title} (${lines.length}):`)
  for (const line of lines) console.log(`  ${line}`)
  console.log()
}

/** The calls from file to file between the order's handler and the statement with the values of the debit. */
function handOffsToDebit(entries: readonly Entry[]): string[] {
  const begin = entries.findIndex(({ file }) => file === HANDLERS)
  const values = entries.findIndex(({ name }, index) => index > begin && name === 'walletValues')
  const end = entries.findIndex(({ file }, index) => index > values && file === 'lib/postgres/pipeline.ts')
  // Loops run meanwhile: a call counts if its caller has been reached from the handler.
  const reached = new Set([entries[begin]?.caller, HANDLERS])
  const calls: string[] = []
  for (const { file, caller } of entries.slice(begin, end + 1)) {
    if (caller === undefined || !reached.has(caller) || file.startsWith('gateway/tenants/admission/')) continue
    reached.add(file)
    if (caller !== file) calls.push(`${caller}${ARROW}${file}`)
  }
  return [...new Set(calls)]
}

function importClosure(roots: readonly string[]): string[] {
  const found = new Set(roots)
  for (const file of found) {
    const [, name = '', path = ''] = /^([a-z-]+)\/(.*)$/.exec(file) ?? []
    const { code } = transformSync(readFileSync(join(PACKAGES, name, 'src', path), 'utf8'), { loader: 'ts' })
    for (const { fileName } of ts.preProcessFile(code, true, true).importedFiles) {
      const inOther = /^@dealer-esim\/((?:gateway|lib|wholesalers)\/.*)$/.exec(fileName)?.[1]
      if (inOther !== undefined) found.add(inOther)
      else if (/^#.*\.ts$/.test(fileName)) found.add(`${name}/${fileName.slice(1)}`)
      else if (fileName.startsWith('.')) found.add(join(dirname(file), fileName))
    }
  }
  return [...found]
}
