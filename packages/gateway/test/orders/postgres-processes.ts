import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPostmasterPid } from '@dealer-esim/embedded-postgres/postmaster.ts'

/** Lists the processes of the embedded PostgreSQL for this DATA_DIR, from /proc. */
export function postgresProcesses(dataDir: string): { postmaster: number; children: number[] } | undefined {
  const postmaster = readPostmasterPid(join(dataDir, 'postgres'))?.pid
  if (postmaster === undefined) return undefined
  return { postmaster, children: childrenOf(postmaster) }
}

export function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`)
    return tasks.flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return [] // the process has since ended
  }
}
