import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { listPeers, peersText } from './peers.ts'

/** What an older release does not know, so that it is made only once none is connected, with the first release that knows it. */
const KNOWN_SINCE = { 'restricted keys': 2, 'test twins': 2 } as const

/**
 * Requires that every process that is connected to this schema runs a release that knows something new. A node of the release
 * before, which runs beside this one during an upgrade, would refuse its requests. Going back by one release afterwards is
 * allowed: that release refuses them and changes nothing of it.
 * @throws Refusal that names the older processes
 */
export async function requireKnownByAll(db: Pick<Db, 'query'>, what: keyof typeof KNOWN_SINCE): Promise<void> {
  const older = (await listPeers(db)).filter(({ release }) => release < KNOWN_SINCE[what])
  if (older.length === 0) return
  throw new Refusal(
    409,
    'OLDER_RELEASE_CONNECTED',
    `Gateways of an older release, which knows no ${what}, use this database: ${peersText(older)}. Replace them by this release, then try again.`,
  )
}
