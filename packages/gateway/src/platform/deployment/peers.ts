import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { APPLICATION_PREFIX, applicationPrefix, DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { RELEASE } from '@dealer-esim/lib/process/release.ts'

/*
 * Every gateway and every admin command lists its release and its master keys in the application name of its connections. A
 * process never changes its encryption key, so when no process that encrypts with a key is connected, nothing new is encrypted
 * with it. In the same way nothing is done by an older release of which no process is connected (live-releases.ts).
 */

export interface Peer {
  /** As PostgreSQL sees it; null: a Unix socket. */
  address: string | null
  /** The purpose of the connection: `gateway`, `wake` or `admin`. */
  part: string
  /** The number of its release; 1: it is from before releases were named here. */
  release: number
  /** The process id on its machine; null: it did not fit into the name. */
  pid: number | null
  /** The id of the PostgreSQL server process, for `pg_terminate_backend`. */
  backendPid: number
  /** The ids of its keys. It encrypts with the first key. */
  keyIds: string[]
}

/**
 * `dealer-esim gateway/2 4711 keys=1a2b3c4d,5e6f7081` for the part `gateway` of release 2. Release 1, which knows no release in
 * this name, reads the same keys and process id.
 */
export function nameWithKeys(part: string, { keyIds }: Pick<Cipher, 'keyIds'>, schema = DEFAULT_SCHEMA): string {
  const name = `${applicationPrefix(schema)} ${part}/${RELEASE}`
  // PostgreSQL truncates names to 63 bytes. There are at most four keys of eight digits, process ids up to 2²², and releases up
  // to 99 fit beside four keys.
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
    const [purpose = '', release] = (ownPid ? part.slice(0, ownPid.index) : part).split('/', 2)
    return {
      address,
      part: purpose,
      release: release === undefined ? 1 : Number(release),
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
