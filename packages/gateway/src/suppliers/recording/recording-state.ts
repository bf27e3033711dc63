import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { maskedConfig, type SupplierType } from '../create-supplier.ts'
import type { ExchangeSink, RecordedExchange } from './record-calls.ts'
import { type RedactedExchange, redactExchanges } from './redact-recording.ts'

export const EXCHANGES_MAX = 1_000
export const MINUTES_MAX = 24 * 60
const ANSWER_MAX_BYTES = 512 * 1024
/** The maximum size of an encrypted recording. The answer that exceeds it is the last. */
const BYTES_MAX = 32 * 1024 * 1024

/** A recording of a supplier that is running, or that has not been written to a file yet. */
export interface Recording {
  recordingId: string
  exchanges: number
  exchangesMax: number
  startedAt: Date
  endsAt: Date
  isOver: boolean
}

/** SQL: whether the recording `r` accepts no more exchanges. */
export const IS_OVER = `(r.ends_at <= now() or r.exchanges >= r.exchanges_max or r.bytes >= ${BYTES_MAX})`

/**
 * Begins a recording on all nodes, or returns the one that was begun earlier and has not been written to a file.
 * @throws Refusal if there is no such supplier
 */
export async function beginRecording(
  deps: { db: Db; ids: Ids; wake: Pick<Wakeups<'settings'>, 'wake'> },
  { name, count, minutes }: { name: string; count: number; minutes: number },
  by: By,
): Promise<{ recording: Recording; isNew: boolean }> {
  const begun = await deps.db.tx(async (tx) => {
    const [supplier] = await tx.query(sql`select from suppliers where supplier = ${name} for no key update`)
    if (supplier === undefined) throw notFound('supplier', name)
    const earlier = await findRecording(tx, name)
    if (earlier !== undefined) return { recording: earlier, isNew: false }
    await tx.query(sql`
      insert into supplier_recordings (supplier, recording_id, exchanges_max, ends_at, started_at)
      values (${name}, ${deps.ids.uuid()}, ${count}, now() + ${minutes} * interval '1 minute', now())`)
    audit(tx, deps.ids, {
      tenantId: null,
      ...by,
      action: 'supplier.record',
      subject: name,
      after: { count, minutes },
    })
    return { recording: (await findRecording(tx, name))!, isNew: true }
  })
  deps.wake.wake('settings')
  return begun
}

export async function findRecording(db: Pick<Db, 'query'>, supplier: string): Promise<Recording | undefined> {
  const [recording] = await db.query<Recording>({
    text: `select recording_id, exchanges, exchanges_max, started_at, ends_at, ${IS_OVER} as is_over
           from supplier_recordings r where supplier = $1`,
    values: [supplier],
  })
  return recording
}

/** Stores exchanges in the database, encrypted, within the limits of the recording. All nodes write to it. */
export function recordingSink(
  { db, ids, cipher, log }: { db: Pick<Db, 'query'>; ids: Ids; cipher: Pick<Cipher, 'encrypt'>; log: Log },
  supplier: string,
  recordingId: string,
): ExchangeSink {
  let isOver = false
  return {
    answerMaxBytes: ANSWER_MAX_BYTES,
    isOver: () => isOver,
    async keep(exchange) {
      const exchangeId = ids.uuid()
      const content = cipher.encrypt(JSON.stringify(exchange), supplierOwner(supplier))
      try {
        const kept = await db.query({
          name: 'supplier-record',
          text: `with counted as (
                   update supplier_recordings r set exchanges = exchanges + 1, bytes = bytes + $4
                   where supplier = $1 and recording_id = $2 and not ${IS_OVER} returning supplier)
                 insert into supplier_exchanges (supplier, exchange_id, content, recorded_at)
                 select supplier, $3, $5, now() from counted returning supplier`,
          values: [supplier, recordingId, exchangeId, content.length, content],
        })
        isOver = kept.length === 0
      } catch (error) {
        log.warn({ err: error, supplier }, 'an exchange was not recorded')
      }
    },
  }
}

/** The file that `supplier record` writes. */
export interface RecordingFile {
  supplierType: SupplierType
  recordedAt: Date
  /** The configuration for a replay to read the answers with, with masked secrets. */
  config: Record<string, unknown>
  exchanges: RedactedExchange[]
}

/**
 * Reads a recording and redacts it. The recording stays until `deleteRecording`.
 * @returns undefined if it contains no exchange
 */
export async function readRecording(
  deps: { db: Db; ids: Ids; cipher: Pick<Cipher, 'decrypt'> },
  name: string,
  by: By,
): Promise<RecordingFile | undefined> {
  return deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ type: SupplierType; config: Buffer; startedAt: Date }>(sql`
      select s.type, s.config, r.started_at from suppliers s join supplier_recordings r using (supplier)
      where supplier = ${name}`)
    const contents = await tx.query<{ content: Buffer }>(sql`
      select content from supplier_exchanges where supplier = ${name} order by exchange_id`)
    if (row === undefined || contents.length === 0) return undefined
    const exchanges = contents.map(
      ({ content }): RecordedExchange => JSON.parse(deps.cipher.decrypt(content, supplierOwner(name)).toString()),
    )
    audit(tx, deps.ids, {
      tenantId: null,
      ...by,
      action: 'supplier.fetch_recording',
      subject: name,
      after: { exchanges: exchanges.length },
    })
    return {
      supplierType: row.type,
      recordedAt: row.startedAt,
      ...redactExchanges(exchanges, maskedConfig(deps, row.type, name, row.config)),
    }
  })
}

/** Deletes a recording and its exchanges. */
export async function deleteRecording(db: Db, supplier: string): Promise<void> {
  await db.tx(async (tx) => {
    tx.send({ text: 'delete from supplier_recordings where supplier = $1', values: [supplier] })
    tx.send({ text: 'delete from supplier_exchanges where supplier = $1', values: [supplier] })
  })
}
