import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { APPLICATION_PREFIX, applicationPrefix, DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'

/*
 * Every gateway and every admin command lists its master keys in the application name of its connections. A process never
 * changes its encryption key, so when no process that encrypts with a key is connected, nothing new is encrypted with it.
 */

export interface Peer {
  /** As PostgreSQL sees it; null: a unix socket. */
  address: string | null
  /** The purpose of the connection: `gateway`, `wake` or `admin`. */
  part: string
  /** The process id on its own machine; null: the name had no room for it. */
  pid: number | null
  /** The id of the PostgreSQL server process, for `pg_terminate_backend`. */
  backendPid: number
  /** The ids of its keys. It encrypts with the first one. */
  keyIds: string[]
}

/** `dealer-esim gateway 4711 keys=1a2b3c4d,5e6f7081` for the part `gateway` */
export function nameWithKeys(part: string, { keyIds }: Pick<Cipher, 'keyIds'>, schema = DEFAULT_SCHEMA): string {
  const name = `${applicationPrefix(schema)} ${part}`
  // PostgreSQL truncates names to 63 bytes. There are at most four keys of eight digits, and process ids up to 2²².
  const keys = ` keys=${keyIds.join(',')}`
  const full = `${name} ${process.pid}${keys}`
  return full.length <= NAME_SIZE_MAX_BYTES ? full : `${name}${keys}`
}

const NAME_SIZE_MAX_BYTES = 63

/** Lists the connections of gateways and admin commands to this schema, including our own. */
export async function listPeers(db: Pick<Db, 'query'>): Promise<Peer[]> {
  const rows = await db.query<{ address: string | null; pid: number; name: string }>({
    text: `select host(client_addr) as address, pid, application_name as name from pg_stat_activity
           where datname = current_database() and application_name like ${APPLICATION_PREFIX} || ' % keys=%' order by pid`,
  })
  return rows.map(({ address, pid, name }) => {
    const [head = '', keys = ''] = name.split(' keys=', 2)
    const part = head.slice(head.indexOf(' ') + 1)
    const ownPid = / (\d+)$/.exec(part)
    return {
      address,
      part: ownPid ? part.slice(0, ownPid.index) : part,
      pid: ownPid ? Number(ownPid[1]) : null,
      backendPid: pid,
      keyIds: keys.split(','),
    }
  })
}

/** Groups connections by process, giving the first connection and the number of connections of each. */
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

/** The processes that could not decrypt what we encrypt, or whose ciphertexts we could not decrypt. */
export function incompatiblePeers(peers: readonly Peer[], { keyIds: ours }: Pick<Cipher, 'keyIds'>): Peer[] {
  return peers.filter(({ keyIds }) => !ours.includes(keyIds[0]!) || !keyIds.includes(ours[0]!))
}

/** Such as `10.0.0.5 (process 815, connection 4711)`, for messages. */
export function peersText(peers: readonly Peer[]): string {
  return processesOf(peers)
    .map(({ address, pid, backendPid }) => {
      const processText = pid === null ? '' : `process ${pid}, `
      return `${address ?? 'this machine'} (${processText}connection ${backendPid})`
    })
    .join(', ')
}
