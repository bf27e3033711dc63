import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { StartRefused } from '../process/start-refused.ts'

/** Whom the server runs as: PostgreSQL refuses root. `undefined` is the user that we are. */
export type Account = { uid: number; gid: number } | undefined

/**
 * Data that exists decides by its owner: a `postgres` user that appeared on the machine later must not lock it out.
 * New data belongs to `postgres` where there is one, else to `nobody`.
 */
export function serverAccount(clusterDir: string): Account {
  const owner = existsSync(clusterDir) ? statSync(clusterDir) : undefined
  const self = process.getuid!()
  if (self !== 0) {
    if (owner && owner.uid !== self) {
      throw new StartRefused(
        `${clusterDir} belongs to user ${owner.uid}, we are ${self}. Start as that user, or as root.`,
      )
    }
    return undefined
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const found = lookUp(name)
    if (found) return found
  }
  throw new StartRefused(
    'PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody. Start as another user, or set DATABASE_URL.',
  )
}

/** Whether that account can enter the directory; asked of the kernel, which knows access lists and mounts. */
export function canEnter(account: Account, directory: string): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { ...account, cwd: '/', stdio: 'ignore' }).status === 0
  )
}

function lookUp(name: string): Account {
  const id = (flag: string) => spawnSync('id', [flag, name], { encoding: 'utf8' })
  const user = id('-u')
  if (user.status !== 0) return undefined
  return { uid: Number(user.stdout), gid: Number(id('-g').stdout) }
}
