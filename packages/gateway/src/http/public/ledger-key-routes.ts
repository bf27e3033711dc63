import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { FastifyInstance } from 'fastify'
import { listLedgerKeys } from '#wallet/books/ledger-keys.ts'

/** Long enough to answer many readers from a proxy, short enough for a new key, which waits a day before it signs. */
const CACHED_S = 300

/**
 * `/.well-known/dealer-esim-keys`: the public keys that sign checkpoints of ledgers, of all cells that this gateway knows, for anybody
 * who holds a checkpoint. Example: `{"keys":[{"publicKey":"iojj…b1w=","validFrom":"2026-11-01T00:00:00.000Z",…}]}`.
 */
export function addLedgerKeyRoutes(app: FastifyInstance, deps: { db: Pick<Db, 'query'> }): void {
  app.get('/.well-known/dealer-esim-keys', { config: { access: 'anybody' } }, async (_, reply) => {
    reply.headers({ 'cache-control': `public, max-age=${CACHED_S}`, 'x-content-type-options': 'nosniff' })
    return { keys: await listLedgerKeys(deps.db) }
  })
}
