import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import {
  type Clock,
  createDatabaseClock,
  type DatabaseClock,
  sampleDatabaseClock,
  systemClock,
} from '@dealer-esim/lib/clock.ts'
import { type Cipher, createCipher } from '@dealer-esim/lib/crypto.ts'
import { createIds, type Ids } from '@dealer-esim/lib/ids.ts'
import { ensureLocalMasterKey } from '@dealer-esim/lib/local-master-key.ts'
import { createOutbound, type Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb, createStallWatch, type Database, type Db, type DbOptions } from '@dealer-esim/lib/postgres/db.ts'
import { findPromoted } from '@dealer-esim/lib/postgres/servers.ts'
import { createWakeups, type Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { createLoopMetrics, createMetrics, type LoopMetrics, type Metrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import type { OtlpOptions } from '@dealer-esim/lib/telemetry/otlp.ts'
import type { Traces } from '@dealer-esim/lib/telemetry/traces.ts'
import { type Catalogue, createCatalogue } from './catalogue/catalogue.ts'
import { plainRequestLog, type RequestLog, type RequestMetrics, requestMetrics } from './http/request-log.ts'
import { type OrderMetrics, orderMetrics } from './orders/change-order.ts'
import { createOrderPlacer, type OrderPlacer } from './orders/placing/order-placer.ts'
import { createLocalSignIn, type LocalSignIn } from './people/local-sign-in.ts'
import type { Config } from './platform/config/config.ts'
import { ORDER_CONNECTIONS } from './platform/config/connections.ts'
import { ensureDeployment } from './platform/deployment/ensure-deployment.ts'
import { nameWithKeys } from './platform/deployment/peers.ts'
import { maintainPartitions } from './platform/retention/retention-table.ts'
import { createAvailability } from './suppliers/availability.ts'
import { type SupplierMetrics, supplierMetrics } from './suppliers/supplier-gate.ts'
import { createSuppliers, type Suppliers } from './suppliers/supplier-registry.ts'
import type { AdmissionDeps } from './tenants/admission/admission.ts'
import { createAdmission } from './tenants/admission/create-admission.ts'

/** What background loops are woken for: orders to fulfil, questions to suppliers, actions on eSIMs, events to send, changed settings and stock. */
export type Topic = 'fulfilment' | 'questions' | 'actions' | 'webhooks' | 'settings' | 'stock'

/** What all modules share. A function accepts only the members that it needs: Pick<Deps, …>. */
export interface Deps {
  config: Config
  log: Log
  /** Writes the log line of a request. */
  logRequest: RequestLog
  /** This node's clock. */
  clock: Clock
  /** The database's clock, which decides wherever time matters. */
  databaseClock: DatabaseClock
  /** UUIDs by the database's clock, and random bytes. */
  ids: Ids
  /** The general database connections. */
  db: Db
  /** All connection pools by name, for metrics. */
  pools: Record<string, Db['pool']>
  /** Resolves to true if the database answers on the connections of each pool that this process needs. */
  isDatabaseResponding(): Promise<boolean>
  /** Encrypts secrets under the master keys. */
  cipher: Cipher
  /** Authenticates cursors and QR links; the same on every node. */
  linkKey: Buffer
  /** Wakes background loops on all nodes. */
  wake: Wakeups<Topic>
  metrics: Metrics
  requestMetrics: RequestMetrics
  orderMetrics: OrderMetrics
  supplierMetrics: SupplierMetrics
  /** Metrics of background loops. */
  loops: LoopMetrics
  /** Makes all outgoing connections. */
  outbound: Outbound
  /** Packages and prices, in memory. */
  catalogue: Catalogue
  suppliers: Suppliers
  /** Authenticates dealer requests and limits their rate. */
  admission: AdmissionDeps
  /** Places orders in batches. */
  orderPlacer: OrderPlacer
  links: {
    /** Base of absolute links. A local gateway without PUBLIC_URL sets it when it listens. */
    publicUrl: string
    /** Without /console. Defaults to publicUrl. */
    consoleUrl?: string
  }
  /** The link that a local gateway prints. */
  localSignIn: LocalSignIn
  /** undefined if no collector is configured. */
  traces: Traces | undefined
}

/**
 * PostgreSQL ends our idle order transactions after this time, so that a dead node's wallet locks are released. No order
 * transaction is idle for nearly as long.
 */
const ORDER_IDLE_MS = 3_000
/**
 * Limits for placing orders. The wait for a lock is longer than a dead node can hold it; a stalled connection is abandoned
 * early enough for another attempt within ten seconds.
 */
const ORDER_LIMITS = { lockTimeoutMs: 3_500, statementTimeoutMs: 4_000, stallMs: 5_000, connectTimeoutMs: 3_000 }
/** How often idle connections and the other servers of DATABASE_URL are checked. */
const CHECK_MS = 5_000
/**
 * Admission observes the database's time with every batch; this is for idle nodes, and for nodes that refuse every request
 * because the clock was wrong (101001): they accept requests again within a second of its correction.
 */
const CLOCK_SAMPLE_MS = 500

/** Creates the one Deps of this process. `stop` closes all connections. @throws StartRefused */
export async function createDeps(
  config: Config,
  log: Log,
  databaseUrl: string,
  logRequest: RequestLog = plainRequestLog(log),
): Promise<Deps & Running> {
  let isStopping = false
  const onIdleError = (error: Error) => {
    // During a stop, the database may stop before its connections are closed.
    if (!isStopping) log.warn({ err: error }, 'a database connection was lost')
  }
  const cipher = createCipher(config.masterKeys ?? [ensureLocalMasterKey(config.dataDir)])
  const { db, orderDb, hot } = createDatabases(config, databaseUrl, cipher, onIdleError)
  const clock = systemClock
  const clocks = { clock, databaseClock: createDatabaseClock(clock) }
  const ids = createIds(clocks.databaseClock.now)
  const linkKey = await ensureDeployment({ db, cipher, ids }, config.deployment).catch((error) =>
    closeAndThrow([db, orderDb], error),
  )
  // Another node may hold the locks for longer than we wait. Missing partitions are created when they are needed.
  await maintainPartitions(db).catch((err) => log.warn({ err }, 'could not create partitions at the start'))
  const sampling = await startClockSampling(db, clocks)
  const nodeId = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  const wake = createWakeups<Topic>({
    url: databaseUrl,
    schema: config.databaseSchema,
    nodeId,
    applicationName: nameWithKeys('wake', cipher, config.databaseSchema),
    onError: onIdleError,
  })
  const metrics = createMetrics()
  const measures = createMeasures(metrics)
  const { loops } = measures
  const outbound = createOutbound({ clock })
  const traces = await createTraces({ config, nodeId, outbound, metrics, log, loops })
  const catalogue = createCatalogue({ db, linkKey, databaseClock: clocks.databaseClock })
  const admission = createAdmission({ ...clocks, hot, config, db, cipher, linkKey, log })
  const suppliers = await createSuppliers({ config, db, ids, clock, cipher, linkKey, log, loops, wake, outbound })
  const stock = await createAvailability({ db, log, loops, wake })
  const checks = startChecks(
    { databaseUrl, schema: config.databaseSchema },
    config.role === 'worker' ? [db] : [db, orderDb, admission.db],
  )
  const orderPlacer = createOrderPlacer({
    ...{ ...clocks, ids, log, wake, catalogue, stock, suppliers, orderMetrics: measures.orderMetrics },
    db: orderDb,
    maintainPartitions: () => maintainPartitions(db),
  })
  return {
    config,
    log,
    logRequest,
    ...clocks,
    ids,
    db,
    pools: { general: db.pool, orders: orderDb.pool, admission: admission.db.pool },
    isDatabaseResponding: checks.isResponding,
    cipher,
    linkKey,
    wake,
    metrics,
    ...measures,
    outbound,
    catalogue,
    suppliers,
    admission,
    orderPlacer,
    links: { publicUrl: config.publicUrl ?? '', ...(config.consoleUrl && { consoleUrl: config.consoleUrl }) },
    localSignIn: createLocalSignIn(),
    traces,
    async stop(deadlineMs) {
      isStopping = true
      clearInterval(sampling)
      checks.stop()
      await traces?.stop(deadlineMs)
      await Promise.all([suppliers.stop(deadlineMs), stock.stop(deadlineMs)])
      await Promise.all([wake.stop(), outbound.close()])
      await Promise.all([db.close(), orderDb.close(), admission.db.close()])
    },
  }
}

/** The general connections, and those for orders, whose options (`hot`) admission shares. */
function createDatabases(config: Config, url: string, cipher: Cipher, onIdleError: (error: Error) => void) {
  const connection = { url, schema: config.databaseSchema, onIdleError, stalled: createStallWatch() }
  const hot = { ...connection, genericPlans: true, keepConnections: true } satisfies Partial<DbOptions>
  const db = createDb({
    ...connection,
    poolSize: config.databasePoolSize,
    applicationName: nameWithKeys('gateway', cipher, config.databaseSchema),
  })
  const orderDb = createDb({
    ...hot,
    ...ORDER_LIMITS,
    poolSize: ORDER_CONNECTIONS,
    idleInTransactionMs: ORDER_IDLE_MS,
    applicationName: 'dealer-esim orders',
  })
  return { db, orderDb, hot }
}

/** Reads the database's clock now, and then regularly. */
async function startClockSampling(db: Db, { clock, databaseClock }: Pick<Deps, 'clock' | 'databaseClock'>) {
  const sample = () => sampleDatabaseClock(db, clock, databaseClock)
  await sample()
  return setInterval(() => void sample().catch(() => {}), CLOCK_SAMPLE_MS).unref()
}

/** Finds idle connections that have stalled, and a standby that was promoted while the former primary still runs. */
function startChecks({ databaseUrl, schema }: { databaseUrl: string; schema: string }, databases: readonly Database[]) {
  const isResponding = async () => {
    const responding = await Promise.all(databases.map((each) => each.isResponding()))
    return responding.every(Boolean)
  }
  const checking = setInterval(() => {
    void isResponding()
    void findPromoted(databaseUrl, schema)
  }, CHECK_MS).unref()
  return { isResponding, stop: () => clearInterval(checking) }
}

function createMeasures(metrics: Metrics) {
  return {
    requestMetrics: requestMetrics(metrics),
    orderMetrics: orderMetrics(metrics),
    supplierMetrics: supplierMetrics(metrics),
    loops: createLoopMetrics(metrics),
  }
}

/** A refused start must close its connections, because others would count them as a running gateway. */
async function closeAndThrow(pools: { close(): Promise<void> }[], error: unknown): Promise<never> {
  await Promise.all(pools.map((pool) => pool.close()))
  throw error
}

/** Loads the trace exporter only if a collector is configured. */
async function createTraces({
  config,
  nodeId,
  ...rest
}: Pick<OtlpOptions, 'outbound' | 'metrics' | 'log' | 'loops'> & { config: Config; nodeId: string }) {
  const { otlpEndpoint: endpoint, otlpHeaders: headers, tracePercent: percent, deployment, role } = config
  if (endpoint === undefined) return undefined
  const { startTraces } = await import('@dealer-esim/lib/telemetry/otlp.ts')
  const resource = {
    'service.name': 'dealer-esim',
    'service.instance.id': nodeId,
    'deployment.environment.name': deployment,
    'dealer_esim.role': role,
  }
  return startTraces({ endpoint, headers, percent, resource, ...rest })
}
