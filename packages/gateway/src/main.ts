import { setImmediate as eventsHandled } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { explainFileFault, StartError, startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { createStack, type RunningStack, StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { stopOnSignals } from '@dealer-esim/lib/process/stop-signals.ts'
import { createLog } from '@dealer-esim/lib/telemetry/json-log.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { terminalDestination } from '@dealer-esim/lib/telemetry/terminal-log.ts'
import { startApi } from './api.ts'
import { seedSandboxPackages } from './catalogue/demo/seed-catalogue.ts'
import { createDeps } from './deps.ts'
import { type Readiness, startProbes } from './http/probes/probes-server.ts'
import { createRequestLog, plainRequestLog, type RequestLog } from './http/request-log.ts'
import { ensureLocalDemo, printLocalAccess } from './local-demo.ts'
import { startInRecovery } from './operations/recovery/begin-recovery.ts'
import { type Config, ConfigError, localUrl, readConfig } from './platform/config/config.ts'
import { migrateSchemas } from './platform/deployment/twins-schema.ts'
import { startTrialSupplier } from './trial-supplier.ts'
import { startWorker } from './worker.ts'

/** EX_CONFIG of sysexits.h: the configuration is wrong, and a restart will not help. */
const EXIT_CONFIG = 78
const ROLLBACK_MS = 5_000
/** Twice the interval at which proxies usually check, and a margin. */
const STOP_DELAY_MS = 5_000
/** A replayed order fails its insert (decision 0003), and is then rolled back after its transaction has ended. */
const EXPECTED_POSTGRES_ERRORS =
  /unique constraint "orders_tenant_id_transaction_id_key"|there is no transaction in progress/

/**
 * How far the heap grows between full collections: 100 doubles it. V8 would choose between a tenth, for a quiet process, and three
 * times, and counts bodies that are arriving: while one caller sent bodies without a pause, two collections a second delayed others
 * by 45 ms.
 */
const HEAP_GROWING_PERCENT = 100
/** By then V8 has collected what the start left behind. Set earlier, an idle process keeps 80 MB of it. */
const STARTED_MS = 60_000

await main()

/** Arguments and environment → Config → Deps → the roles of this process. */
async function main(): Promise<void> {
  const config = readConfigOrExit()
  const log = isTerminal()
    ? createLog(config.logLevel, terminalDestination(process.stdout))
    : createLog(config.logLevel)
  const stack = createStack(log)
  const readiness: Readiness = { state: 'starting' }
  stopOnSignals({
    log,
    deadlineMs: config.drainTimeoutMs,
    announce() {
      const delayMs = readiness.state === 'serving' ? stopDelayMs(config) : 0
      readiness.state = 'stopping'
      return delayMs
    },
    stop: stack.stop,
  })
  try {
    const { port, metricsPort } = await start(config, log, stack, readiness)
    if (readiness.state === 'starting') readiness.state = 'serving'
    const baseUrl = config.publicUrl ?? (port && localUrl(config, port))
    log.info(
      { baseUrl, port, metricsPort, deployment: config.deployment, role: config.role, pid: process.pid },
      'ready',
    )
    setTimeout(() => setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`), STARTED_MS).unref()
  } catch (error) {
    // Ctrl-C also ends initdb, which blocks the event loop: the signal handler runs only now.
    await eventsHandled()
    if (stack.isStopping) return // exits with the code of the stop, which also made the start fail
    await stack.stop(ROLLBACK_MS)
    const refusal = error instanceof StartRefused ? error.message : explainFileFault(error, config.dataDir)
    if (refusal !== undefined) process.stderr.write(`The gateway did not start. ${refusal}\n`)
    else log.fatal({ err: error }, 'the gateway did not start')
    process.exit(1)
  }
}

/** Logs plain text to a terminal, for people, and JSON to a file or a pipe, for programs. */
function isTerminal(): boolean {
  return process.stdout.isTTY === true
}

function requestLogOf({ logLevel }: Config, log: Log): RequestLog {
  return isTerminal() ? plainRequestLog(log) : createRequestLog(logLevel)
}

/** A worker is not behind a proxy, so its stop needs no delay. */
function stopDelayMs({ role, deployment, stopDelayMs: configuredMs }: Config): number {
  if (role === 'worker') return 0
  return configuredMs ?? (deployment === 'local' ? 0 : STOP_DELAY_MS)
}

/** Starts the parts in dependency order; they are stopped in reverse. @returns the ports; `port` is the API's */
async function start(
  config: Config,
  log: Log,
  stack: RunningStack,
  readiness: Readiness,
): Promise<{ port?: number; metricsPort: number }> {
  const databaseUrl = config.databaseUrl ?? (await startDatabase(config, log, stack))
  const isProduction = config.deployment === 'production'
  await migrateSchemas({ databaseUrl, schema: config.databaseSchema, isProduction, log })
  await startInRecovery(config, databaseUrl, log)
  const deps = await createDeps(config, log, databaseUrl, requestLogOf(config, log))
  stack.push('connections', deps)
  const probes = await startProbes(deps, readiness)
  const metricsPort = probes.port
  stack.push('probes', probes)
  if (config.deployment === 'local') await ensureLocalDemo(deps)
  if (config.deployment === 'test') await seedSandboxPackages(deps)
  if (config.role !== 'api') stack.push('worker', await startWorker(deps))
  if (config.role === 'worker') return { metricsPort }
  const api = await startApi(deps)
  stack.push('api', api)
  // It sends events to the API, whose port is known only now.
  if (config.isTrial) stack.push('trial supplier', await startTrialSupplier(deps))
  if (config.deployment === 'local') await printLocalAccess(deps, deps.links.publicUrl)
  return { port: api.port, metricsPort }
}

async function startDatabase(config: Config, log: Log, stack: RunningStack): Promise<string> {
  const startedAt = performance.now()
  const options = { dataDir: config.dataDir, log, expectedErrors: EXPECTED_POSTGRES_ERRORS }
  const starting = startEmbeddedPostgres(options)
  stack.push('database', starting)
  const postgres = await starting.catch((error) => {
    throw error instanceof StartError ? new StartRefused(error.message, { cause: error }) : error
  })
  log.info({ pid: postgres.pid, durationMs: Math.round(performance.now() - startedAt) }, 'embedded database started')
  return postgres.url
}

function readConfigOrExit(): Config {
  try {
    return readConfig(process.env, process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const faults = error.faults.map((fault) => `  ${fault}\n`).join('')
    process.stderr.write(
      `The configuration of the gateway has faults:\n${faults}docs/configuration.md describes every variable.\n`,
    )
    process.exit(EXIT_CONFIG)
  }
}
