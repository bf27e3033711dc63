import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { By } from '../audit/audit.ts'
import type { AdminDeps } from './deps.ts'
import { printable, printableJson } from './printable.ts'

/** What the commands of every noun are given. */
export interface AdminContext {
  /** For changes: `cli:<os user>`. */
  readonly by: By
  /** `--json` was given: exactly one JSON document goes to stdout. */
  readonly json: boolean
  /** Of a command that did what it should and found something wrong: 1. */
  exitCode: number
  /** Opens what a command works with, beside a running gateway or without one, and closes it afterwards. */
  withDeps<Result>(work: (deps: AdminDeps) => Promise<Result>): Promise<Result>
  /** Shows the result: `human` is for a terminal, `json` for a program (bigint as an integer, Date as RFC 3339). */
  print(human: string, json: unknown): void
  /** A line on stderr while a long command works; nothing with --json. */
  progress(line: string): void
}

export function adminContext(program: Command): AdminContext {
  return {
    by: { actor: `cli:${osUser()}` },
    exitCode: 0,
    get json() {
      return program.opts<{ json?: boolean }>().json === true
    },
    async withDeps(work) {
      // Not imported above: the help of the whole needs no database driver.
      const { createAdminDeps } = await import('./deps.ts')
      const { deps, close } = await createAdminDeps()
      try {
        return await work(deps)
      } finally {
        await close()
      }
    },
    print(human, json) {
      process.stdout.write(`${this.json ? jsonText(json) : printable(human)}\n`)
    },
    progress(line) {
      if (!this.json) process.stderr.write(`${printable(line)}\n`)
    },
  }
}

export function jsonText(value: unknown): string {
  return printableJson(JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? Number(member) : member), 2))
}

/**
 * An entry that says root says nothing, so root's is the one that became root; ops/dealer-esim-admin runs as the service's
 * user, and hands on who called it. From anybody else SUDO_USER is hearsay.
 */
function osUser(): string {
  const sudoer = process.getuid?.() === 0 ? process.env.SUDO_USER : undefined
  const name = sudoer || handedOn(process.env.CREDENTIALS_DIRECTORY)
  if (name) return name
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown') // a user id without a name, as in containers
  }
}

/** Below it only systemd writes, at root's word. */
const CREDENTIALS = /^\/run\/credentials\/[\w@.:-]+$/

function handedOn(folder: string | undefined): string | undefined {
  if (folder === undefined || !CREDENTIALS.test(folder)) return undefined
  try {
    return readFileSync(join(folder, 'operator'), 'utf8').trim()
  } catch {
    return undefined // a service has its credentials for other purposes, too
  }
}
