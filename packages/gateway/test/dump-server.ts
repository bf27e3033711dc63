import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { type Account, serverAccount } from '@dealer-esim/embedded-postgres/server-account.ts'
import { freePort } from './harness/processes/free-port.ts'
import { removeFolder } from './harness/temporary-folders.ts'

/** An operator's own server: the PostgreSQL installed on this machine, with its tools. */
export interface DumpServer {
  url(database: string): string
  /** pg_dump, pg_restore and createdb of the same version. */
  run(tool: string, args: string[]): void
  stop(): Promise<void>
}

/**
 * Returns the folder of the newest PostgreSQL that has pg_dump, as installed by Debian. The embedded one does not include
 * pg_dump.
 */
export function installedPostgres(): string | undefined {
  const folder = '/usr/lib/postgresql'
  const versions = existsSync(folder) ? readdirSync(folder).sort((a, b) => Number(b) - Number(a)) : []
  const all = versions.map((version) => join(folder, version, 'bin'))
  return all.find((bin) => ['postgres', 'initdb', 'pg_dump'].every((tool) => existsSync(join(bin, tool))))
}

export async function startDumpServer(bin: string): Promise<DumpServer> {
  const data = mkdtempSync(join(tmpdir(), 'dealer-esim-dump-'))
  const cluster = join(data, 'cluster')
  const account: Account = serverAccount(cluster)
  mkdirSync(cluster, { mode: 0o700 })
  if (account) for (const path of [data, cluster]) chownSync(path, account.uid, account.gid)
  const as = { ...account, cwd: '/' }
  const initdb = ['-D', cluster, '-U', 'operator', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(join(bin, 'initdb'), initdb, { ...as, stdio: 'pipe' })
  const port = await freePort()
  const settings = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off']
  const server = spawn(join(bin, 'postgres'), ['-D', cluster, '-p', String(port), ...settings], {
    ...as,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const watchdog = signalOnExit(server.pid!, 'INT')
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    let said = ''
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.includes('ready to accept connections')) resolve()
    })
    void ended.then(() => reject(new Error(said)))
  })
  return {
    url: (database) => `postgres://operator@127.0.0.1:${port}/${database}`,
    run: (tool, args) => void execFileSync(join(bin, tool), args, { stdio: 'pipe' }),
    async stop() {
      server.kill('SIGINT')
      await ended
      watchdog.cancel()
      removeFolder(data)
    },
  }
}
