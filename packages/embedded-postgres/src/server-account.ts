import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { StartError } from './start-error.ts'

/** The user that the server runs as, because PostgreSQL refuses root. `undefined`: the current user. */
export type Account = { uid: number; gid: number } | undefined

/**
 * Existing data is served by its owner, so that a `postgres` user added to the machine later does not lock it out. New data
 * belongs to `postgres` if the machine has that user, otherwise to `nobody`.
 */
export function serverAccount(clusterDir: string): Account {
  const owner = existsSync(clusterDir) ? statSync(clusterDir) : undefined
  const self = process.getuid!()
  if (self !== 0) {
    if (owner && owner.uid !== self) {
      throw new StartError(
        `${clusterDir} belongs to user ${owner.uid}, but this process runs as user ${self}. Start as that user, or as root.`,
      )
    }
    return undefined
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const account = findAccount(name)
    if (account) return account
  }
  throw new StartError(
    'PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody. Start as another user, or set DATABASE_URL.',
  )
}

/** True if the account can enter the directory. Asks the kernel, which knows access lists and mounts. */
export function canEnter(account: Account, directory: string): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { ...account, cwd: '/', stdio: 'ignore' }).status === 0
  )
}

function findAccount(name: string): Account {
  const id = (flag: string) => spawnSync('id', [flag, name], { encoding: 'utf8' })
  const user = id('-u')
  if (user.status !== 0) return undefined
  return { uid: Number(user.stdout), gid: Number(id('-g').stdout) }
}
