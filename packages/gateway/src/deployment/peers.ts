import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'

/*
 * Who else is connected to this database, and which master keys they know: every gateway and every admin command says so
 * in the name of its connections. A process never changes the key that it encrypts under, so once nobody who encrypts
 * under a key is connected, nothing more comes to be encrypted under it.
 */

export interface Peer {
  /** As PostgreSQL sees it; null: a unix socket. */
  address: string | null
  /** Of its server process, for `pg_terminate_backend`. */
  backendPid: number
  /** The first one encrypts. */
  keyIds: string[]
}

/** `dealer-esim gateway keys=1a2b3c4d,5e6f7081` */
export function nameWithKeys(name: string, { keyIds }: Pick<Cipher, 'keyIds'>): string {
  return `${name} keys=${keyIds.join(',')}` // at most 63 bytes, where PostgreSQL cuts: there are four keys at most
}

/** Processes of this database, this one included: one entry for each of their connections. */
export async function readPeers(db: Pick<Db, 'query'>): Promise<Peer[]> {
  const rows = await db.query<{ address: string | null; pid: number; name: string }>({
    text: `select host(client_addr) as address, pid, application_name as name from pg_stat_activity
           where datname = current_database() and application_name like 'dealer-esim % keys=%' order by pid`,
  })
  return rows.map(({ address, pid, name }) => {
    const keyIds = name.slice(name.indexOf('keys=') + 'keys='.length).split(',')
    return { address, backendPid: pid, keyIds }
  })
}

/** Those whose writing we could not read, or who could not read ours. */
export function incompatible(peers: readonly Peer[], { keyIds: ours }: Pick<Cipher, 'keyIds'>): Peer[] {
  return peers.filter(({ keyIds }) => !ours.includes(keyIds[0]!) || !keyIds.includes(ours[0]!))
}

/** `10.0.0.5 (connection 4711)`, for a sentence. */
export function named(peers: readonly Peer[]): string {
  return peers.map(({ address, backendPid }) => `${address ?? 'this machine'} (connection ${backendPid})`).join(', ')
}
