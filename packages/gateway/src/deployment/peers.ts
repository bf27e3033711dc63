import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/postgres/db.ts'

/*
 * Who else is connected to this database, and which master keys they know: every gateway and every admin command says so
 * in the name of its connections. A process never changes the key that it encrypts under, so once nobody who encrypts
 * under a key is connected, nothing more comes to be encrypted under it.
 */

export interface Peer {
  /** As PostgreSQL sees it; null: a unix socket. */
  address: string | null
  /** What the connection is for: `gateway`, `wake`, `admin`. */
  part: string
  /** Of the process on its machine; null: it says none. */
  pid: number | null
  /** Of its server process, for `pg_terminate_backend`. */
  backendPid: number
  /** The first one encrypts. */
  keyIds: string[]
}

/** `dealer-esim gateway 4711 keys=1a2b3c4d,5e6f7081` */
export function nameWithKeys(name: string, { keyIds }: Pick<Cipher, 'keyIds'>): string {
  // At most 63 bytes, where PostgreSQL cuts: there are four keys of eight digits, and Linux has no process above 2²².
  const keys = ` keys=${keyIds.join(',')}`
  const whole = `${name} ${process.pid}${keys}`
  return whole.length <= NAME_SIZE_MAX_BYTES ? whole : `${name}${keys}`
}

const NAME_SIZE_MAX_BYTES = 63

/** Processes of this database, this one included: one entry for each of their connections. */
export async function listPeers(db: Pick<Db, 'query'>): Promise<Peer[]> {
  const rows = await db.query<{ address: string | null; pid: number; name: string }>({
    text: `select host(client_addr) as address, pid, application_name as name from pg_stat_activity
           where datname = current_database() and application_name like 'dealer-esim % keys=%' order by pid`,
  })
  return rows.map(({ address, pid, name }) => {
    const [, part = '', own, keys = ''] = /^dealer-esim (.*?)(?: (\d+))? keys=(.*)$/.exec(name) ?? []
    return { address, part, pid: own === undefined ? null : Number(own), backendPid: pid, keyIds: keys.split(',') }
  })
}

/** One entry for each process that says which it is, with its first connection and how many it has. */
export function processesOf(peers: readonly Peer[]): (Peer & { connections: number })[] {
  const byProcess = new Map<string, Peer & { connections: number }>()
  for (const peer of peers) {
    const { address, pid, backendPid, keyIds } = peer
    const key = JSON.stringify(pid === null ? backendPid : [address, pid, keyIds])
    const known = byProcess.get(key)
    if (known === undefined) byProcess.set(key, { ...peer, connections: 1 })
    else known.connections++
  }
  return [...byProcess.values()]
}

/** Those whose writing we could not read, or who could not read ours. */
export function incompatiblePeers(peers: readonly Peer[], { keyIds: ours }: Pick<Cipher, 'keyIds'>): Peer[] {
  return peers.filter(({ keyIds }) => !ours.includes(keyIds[0]!) || !keyIds.includes(ours[0]!))
}

/** `10.0.0.5 (process 815, connection 4711)`, for a sentence. */
export function peersText(peers: readonly Peer[]): string {
  return processesOf(peers)
    .map(({ address, pid, backendPid }) => {
      const which = pid === null ? '' : `process ${pid}, `
      return `${address ?? 'this machine'} (${which}connection ${backendPid})`
    })
    .join(', ')
}
