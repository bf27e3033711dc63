import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type AdmissionDeps, createAdmission } from './admission/admission.ts'
import { type Catalogue, loadedCatalogue } from './catalogue/catalogue.ts'
import type { Config } from './config/config.ts'
import { ORDER_CONNECTIONS } from './config/connections.ts'
import { ensureDeployment } from './deployment/ensure.ts'
import { nameWithKeys } from './deployment/peers.ts'
import { type RequestMetrics, requestMetrics } from './http/request-metrics.ts'
import { type Clock, createDatabaseClock, type DatabaseClock, sampleDatabaseClock, systemClock } from './lib/clock.ts'
import { type Cipher, createCipher } from './lib/crypto.ts'
import { createIds, type Ids } from './lib/ids.ts'
import { ensureLocalMasterKey } from './lib/master-key.ts'
import { createOutbound, type Outbound } from './lib/outbound/outbound.ts'
import { createDb, type Db } from './lib/postgres/db.ts'
import { createWakeups, type Wakeups } from './lib/postgres/wakeups.ts'
import type { Running } from './lib/process/lifecycle.ts'
import type { Log } from './lib/telemetry/log.ts'
import { createLoopMetrics, createMetrics, type LoopMetrics, type Metrics } from './lib/telemetry/metrics.ts'
import { plainRequestLog, type RequestLog } from './lib/telemetry/request-log.ts'
import type { Traces } from './lib/telemetry/traces.ts'
import { createTraces } from './open-traces.ts'
import { type OrderMetrics, orderMetrics } from './orders/change.ts'
import { createOrderPlacer, type OrderPlacer } from './orders/placing/placer.ts'
import { maintainPartitions } from './retention/loop.ts'
import { openAvailability } from './suppliers/availability.ts'
import { openSuppliers, type Suppliers } from './suppliers/registry.ts'
import { type SupplierMetrics, supplierMetrics } from './suppliers/supplier-metrics.ts'

/** What the rooms are given; a function asks for the slice that it needs. */
export interface Deps {
  config: Config
  log: Log
  logRequest: RequestLog
  clock: Clock
  databaseClock: DatabaseClock
  ids: Ids
  db: Db
  /** Of connections, for figures. */
  pools: Record<string, Db['pool']>
  cipher: Cipher
  /** Authenticates cursors and QR links; the same on every node. */
  linkKey: Buffer
  wake: Wakeups
  metrics: Metrics
  requestMetrics: RequestMetrics
  orderMetrics: OrderMetrics
  supplierMetrics: SupplierMetrics
  loops: LoopMetrics
  outbound: Outbound
  catalogue: Catalogue
  suppliers: Suppliers
  admission: AdmissionDeps
  orderPlacer: OrderPlacer
  /** Absolute links start here. A local gateway without PUBLIC_URL learns it when it listens. */
  links: {
    publicUrl: string
    /** Without /console; absent: publicUrl. */
    consoleUrl?: string
  }
  /** undefined: nobody collects them. */
  traces: Traces | undefined
}

/**
 * PostgreSQL ends our idle order transactions after this time, so that a dead node's wallet locks are released. No order
 * transaction of a living node is idle for so long.
 */
const ORDER_IDLE_MS = 5_000
const OF_ORDERS = { poolSize: ORDER_CONNECTIONS, idleTimeoutMs: ORDER_IDLE_MS, applicationName: 'dealer-esim orders' }
/** Admission brings the database's time with every batch; this is for nodes that are idle. */
const CLOCK_SAMPLE_MS = 10_000

/** Builds the one Deps of this process. Stopping it closes the connections. @throws StartRefused */
export async function createDeps(
  config: Config,
  log: Log,
  databaseUrl: string,
  logRequest: RequestLog = plainRequestLog(log),
): Promise<Deps & Running> {
  let stopping = false
  const onIdleError = (error: Error) => {
    // Closing connections and stopping the database overlap: what is lost then is nobody's loss.
    if (!stopping) log.warn({ err: error }, 'a database connection was lost')
  }
  const cipher = createCipher(config.masterKeys ?? [ensureLocalMasterKey(config.dataDir)])
  const named = (part: string) => ({ applicationName: nameWithKeys(`dealer-esim ${part}`, cipher) })
  const connection = { url: databaseUrl, onIdleError }
  const db = createDb({ ...connection, poolSize: config.databasePoolSize, ...named('gateway') })
  const hot = { ...connection, fixedPlans: true, keepsConnections: true }
  const orderDb = createDb({ ...hot, ...OF_ORDERS })
  const clock = systemClock
  const dbClock = createDatabaseClock(clock)
  const clocks = { clock, databaseClock: dbClock }
  const ids = createIds(dbClock.now)
  const ensured = ensureDeployment({ db, cipher, ids }, config.deployment)
  const linkKey = await ensured.catch((refused) => closeAndThrow([db, orderDb], refused))
  // Another node may hold them for longer than we wait. What is missing is made when it is needed.
  await maintainPartitions(db).catch((err) => log.warn({ err }, 'partitions could not be made at the start'))
  const sample = () => sampleDatabaseClock(db, clock, dbClock)
  await sample()
  const sampling = setInterval(() => void sample().catch(() => {}), CLOCK_SAMPLE_MS).unref()

  const nodeId = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  const wake = createWakeups({ url: databaseUrl, nodeId, ...named('wake'), onError: onIdleError })
  const metrics = createMetrics()
  const measured = measuresOf(metrics)
  const { loops } = measured
  const outbound = createOutbound({ clock })
  const traces = await createTraces({ config, nodeId, outbound, metrics, log, loops })
  const catalogue = loadedCatalogue({ db, linkKey, databaseClock: dbClock })
  const admission = createAdmission({ ...clocks, hot, config, db, cipher, log })
  const suppliers = await openSuppliers({ config, db, ids, clock, cipher, linkKey, log, loops, wake, outbound })
  const stock = await openAvailability({ db, log, loops })
  const orderPlacer = createOrderPlacer({
    ...clocks,
    db: orderDb,
    ids,
    catalogue,
    stock,
    maintainPartitions: () => maintainPartitions(db),
    onPlaced(orders) {
      measured.orderMetrics.entered('PAID', orders)
      wake.wake('fulfilment')
      wake.wake('webhooks')
    },
    onFailure: (err, orders) => log.warn({ err, orders }, 'a batch of orders failed: it is retried, split or refused'),
  })
  return {
    config,
    log,
    logRequest,
    ...clocks,
    ids,
    db,
    pools: { general: db.pool, orders: orderDb.pool, admission: admission.pool },
    cipher,
    linkKey,
    wake,
    metrics,
    ...measured,
    outbound,
    catalogue,
    suppliers,
    admission,
    orderPlacer,
    links: { publicUrl: config.publicUrl ?? '', ...(config.consoleUrl && { consoleUrl: config.consoleUrl }) },
    traces,
    async stop(deadlineMs) {
      stopping = true
      clearInterval(sampling)
      await traces?.stop(deadlineMs)
      await Promise.all([suppliers.stop(deadlineMs), stock.stop(deadlineMs)])
      await wake.stop()
      await outbound.close()
      await Promise.all([db.close(), orderDb.close(), admission.close()])
    },
  }
}

function measuresOf(metrics: Metrics) {
  return {
    requestMetrics: requestMetrics(metrics),
    orderMetrics: orderMetrics(metrics),
    supplierMetrics: supplierMetrics(metrics),
    loops: createLoopMetrics(metrics),
  }
}

/** A refused start leaves no connection behind: others would take it for a gateway that runs. */
async function closeAndThrow(pools: { close(): Promise<void> }[], refused: unknown): Promise<never> {
  await Promise.all(pools.map((pool) => pool.close()))
  throw refused
}
