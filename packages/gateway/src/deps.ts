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
import { requireMigrated } from '@dealer-esim/lib/postgres/migrations.ts'
import { findPromoted } from '@dealer-esim/lib/postgres/servers.ts'
import { createWakeups, type Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { createLoopMetrics, createMetrics, type LoopMetrics, type Metrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import type { OtlpOptions } from '@dealer-esim/lib/telemetry/otlp.ts'
import type { Traces } from '@dealer-esim/lib/telemetry/traces.ts'
import type { LiveBrands } from './brands/brand-source.ts'
import { type Catalogue, createCatalogue, type SnapshotContext } from './catalogue/catalogue.ts'
import { createTwinCatalogue } from './catalogue/twin-catalogue.ts'
import { plainRequestLog, type RequestLog, type RequestMetrics, requestMetrics } from './http/request-log.ts'
import { type OrderMetrics, orderMetrics } from './orders/change-order.ts'
import { createOrderPlacer, type OrderPlacer } from './orders/placing/order-placer.ts'
import { createLocalSignIn, type LocalSignIn } from './people/local-sign-in.ts'
import type { Config } from './platform/config/config.ts'
import { ORDER_CONNECTIONS, TWIN_CONNECTIONS } from './platform/config/connections.ts'
import { ensureDeployment } from './platform/deployment/ensure-deployment.ts'
import { createTwins, NO_TWINS, type Twins } from './platform/deployment/open-twins.ts'
import { nameWithKeys } from './platform/deployment/peers.ts'
import { migrationsFolder } from './platform/package-root.ts'
import { maintainPartitions } from './platform/retention/retention-table.ts'
import { type Availability, createAvailability } from './suppliers/availability.ts'
import { type SupplierMetrics, supplierMetrics } from './suppliers/supplier-gate.ts'
import { createSuppliers, type Suppliers, type SuppliersDeps } from './suppliers/supplier-registry.ts'
import { createTwinSuppliers, TWIN_AVAILABILITY } from './suppliers/twin-suppliers.ts'
import type { AdmissionDeps } from './tenants/admission/admission.ts'
import { createAdmission } from './tenants/admission/create-admission.ts'
import { createTwinAdmission } from './tenants/admission/twin-admission.ts'

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
  /** The brands of their dealers; of test twins only. */
  liveBrands?: LiveBrands | undefined
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
  /** The test twins of this node's dealers; the dependencies of twins have no twins. */
  twins: Twins<Deps>
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
  /** The dependencies of the live dealers, if these are those of their test twins. */
  live?: Deps,
): Promise<Deps & Running> {
  let isStopping = false
  const createTwinDeps = (own: Config) => createDeps(own, log, databaseUrl, logRequest, deps)
  const onIdleError = (error: Error) => {
    // During a stop, the database may stop before its connections are closed.
    if (!isStopping) log.warn({ err: error }, 'a database connection was lost')
  }
  const cipher = createCipher(config.masterKeys ?? [ensureLocalMasterKey(config.dataDir)])
  const { db, orderDb, hot } = createDatabases(config, databaseUrl, cipher, onIdleError)
  const clock = systemClock
  const clocks = { clock, databaseClock: createDatabaseClock(clock) }
  const ids = createIds(clocks.databaseClock.now)
  const linkKey = await prepareSchema({ config, db, cipher, ids, log }).catch((error) =>
    closeAndThrow([db, orderDb], error),
  )
  const sampling = await startClockSampling(db, clocks)
  const nodeId = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  const wake = createWake(config, { databaseUrl, nodeId, cipher, onError: onIdleError })
  const metrics = createMetrics()
  const measures = createMeasures(metrics)
  const { loops } = measures
  const outbound = live?.outbound ?? createOutbound({ clock })
  const traces = live ? undefined : await createTraces({ config, nodeId, outbound, metrics, log, loops })
  const twinAdmission =
    live && createTwinAdmission({ liveDb: live.db, twinsDb: db, clock, qpsLimit: config.twinsQpsLimit })
  const admission = createAdmission({ ...clocks, hot, config, db, cipher, linkKey, log, twins: twinAdmission })
  const { catalogue, suppliers, stock, stopStore } =
    live && twinAdmission
      ? storeOfTwins({ live, db, linkKey, clock, liveIdOf: twinAdmission.liveIdOf })
      : await createStore({ config, db, ids, ...clocks, cipher, linkKey, log, loops, wake, outbound })
  const checks = startChecks(
    { databaseUrl, schema: config.databaseSchema },
    config.role === 'worker' ? [db] : [db, orderDb, admission.db],
  )
  const orderPlacer = createOrderPlacer({
    ...{ ...clocks, ids, log, wake, catalogue, stock, suppliers, orderMetrics: measures.orderMetrics },
    db: orderDb,
    maintainPartitions: () => maintainPartitions(db),
  })
  const deps: Deps = {
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
    liveBrands: live && twinAdmission && { db: live.db, liveIdOf: twinAdmission.readLiveId },
    links: live?.links ?? linksOf(config),
    localSignIn: live?.localSignIn ?? createLocalSignIn(),
    traces,
    twins: live ? NO_TWINS : createTwins(() => deps, databaseUrl, createTwinDeps),
  }
  return {
    ...deps,
    async stop(deadlineMs) {
      isStopping = true
      clearInterval(sampling)
      checks.stop()
      await deps.twins.stop(deadlineMs)
      await traces?.stop(deadlineMs)
      await stopStore(deadlineMs)
      await wake.stop()
      if (!live) await outbound.close()
      await Promise.all([db.close(), orderDb.close(), admission.db.close()])
    },
  }
}

/** @returns the key that authenticates links. @throws StartRefused, of twins also while their schema is being created */
async function prepareSchema({ config, db, cipher, ids, log }: Pick<Deps, 'config' | 'db' | 'cipher' | 'ids' | 'log'>) {
  if (config.mode === 'TEST') await requireMigrated(db, migrationsFolder())
  const linkKey = await ensureDeployment({ db, cipher, ids }, config.deployment)
  // Another node may hold the locks for longer than we wait. Missing partitions are created when they are needed.
  await maintainPartitions(db).catch((err) => log.warn({ err }, 'could not create partitions at the start'))
  return linkKey
}

function createWake(
  { databaseSchema: schema }: Config,
  {
    databaseUrl: url,
    cipher,
    ...rest
  }: { databaseUrl: string; nodeId: string; cipher: Cipher; onError(error: Error): void },
): Wakeups<Topic> {
  return createWakeups<Topic>({ url, schema, applicationName: nameWithKeys('wake', cipher, schema), ...rest })
}

function linksOf({ publicUrl = '', consoleUrl }: Config): Deps['links'] {
  return { publicUrl, ...(consoleUrl && { consoleUrl }) }
}

/** What a node sells: packages, suppliers, and what they have in stock. */
interface Store {
  catalogue: Catalogue
  suppliers: Suppliers
  stock: Availability
  stopStore(deadlineMs: number): Promise<unknown>
}

async function createStore(deps: SuppliersDeps & SnapshotContext): Promise<Store> {
  const [suppliers, stock] = [await createSuppliers(deps), await createAvailability(deps)]
  return {
    catalogue: createCatalogue(deps),
    suppliers,
    stock,
    stopStore: (deadlineMs) => Promise.all([suppliers.stop(deadlineMs), stock.stop(deadlineMs)]),
  }
}

/** Live packages at live prices, and the sandbox in the place of each live supplier. */
function storeOfTwins({
  live,
  liveIdOf,
  ...own
}: Pick<Deps, 'db' | 'linkKey' | 'clock'> & { live: Deps; liveIdOf(twinId: string): string }): Store {
  return {
    catalogue: createTwinCatalogue({ live, linkKey: own.linkKey, liveIdOf }),
    suppliers: createTwinSuppliers({ live: live.suppliers, ...own }),
    stock: TWIN_AVAILABILITY,
    stopStore: async () => {},
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
    poolSize: config.mode === 'TEST' ? TWIN_CONNECTIONS.orders : ORDER_CONNECTIONS,
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
