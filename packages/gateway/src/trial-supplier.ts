import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type Running, StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import type { Deps } from './deps.ts'
import { SYSTEM } from './platform/audit/audit.ts'
import { simulatorProgram } from './platform/package-root.ts'
import { addSupplier, getSupplierConfig, listSuppliers } from './suppliers/manage-suppliers.ts'

export const TRIAL_SUPPLIER = 'trial'
const TYPE = 'esim-access'
/** The balance of its account. */
const SPEND_LIMIT = { amount: '10000', currencyCode: 'USD' }
const CATALOGUE_SIZE = 300
/** How many characters of its standard error are kept for the log. */
const PRINTED_MAX = 2_000

/**
 * Runs a simulated wholesaler as a child process on the loopback interface, and connects it as the supplier `trial`, so
 * that a gateway can be tried without an account. Address and credentials survive restarts; the simulator's orders do not.
 * @throws StartRefused if its port is taken
 */
export async function startTrialSupplier(deps: Deps): Promise<Running> {
  const isKnown = (await listSuppliers(deps.db)).some(({ name }) => name === TRIAL_SUPPLIER)
  const credentials = { accessCode: derived(deps, 'accessCode'), secretKey: derived(deps, 'secretKey') }
  const child = spawn(
    process.execPath,
    [
      simulatorProgram(),
      TYPE,
      ...['--port', isKnown ? await knownPort(deps) : '0'],
      ...['--catalogue-size', String(CATALOGUE_SIZE)],
      ...['--credentials', JSON.stringify(credentials)],
      ...['--events-url', `${deps.links.publicUrl}/suppliers/${TRIAL_SUPPLIER}/events`],
    ],
    // It ends when its standard input closes, so also if this process is killed; detached, because Ctrl-C is meant for the
    // gateway.
    { stdio: ['pipe', 'pipe', 'pipe'], detached: true },
  )
  let printed = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(-PRINTED_MAX)
  })
  const url = await listeningUrl(child)
  if (url === undefined) throw new StartRefused(`The trial supplier did not start: ${printed.trim()}`)
  if (!isKnown) {
    const config = { url, ...credentials, eventAddresses: ['127.0.0.1', '::1'], dailySpendLimit: SPEND_LIMIT }
    await addSupplier(deps, { name: TRIAL_SUPPLIER, type: TYPE, config }, SYSTEM)
  }
  deps.log.info({ supplier: TRIAL_SUPPLIER, url, pid: child.pid }, 'trial supplier started')
  let isStopping = false
  child.once('exit', (code) => {
    if (isStopping) return
    deps.log.error({ supplier: TRIAL_SUPPLIER, code, printed }, 'the trial supplier ended: restart the gateway')
  })
  return {
    async stop() {
      isStopping = true
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

/** The same at every start, because the simulator must match the supplier's stored configuration. */
function derived({ linkKey }: Pick<Deps, 'linkKey'>, name: string): string {
  return createHmac('sha256', linkKey).update(`trial supplier\n${name}`).digest('hex').slice(0, 32)
}

async function knownPort(deps: Deps): Promise<string> {
  const { config } = await getSupplierConfig(deps, TRIAL_SUPPLIER)
  const port = URL.canParse(String(config?.url)) ? new URL(String(config?.url)).port : ''
  if (port !== '') return port
  throw new StartRefused(`The supplier ${TRIAL_SUPPLIER} is not a trial supplier. Start without --trial.`)
}

/** undefined: it ended before listening. */
async function listeningUrl(child: ChildProcessWithoutNullStreams): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line).url
  return undefined
}
