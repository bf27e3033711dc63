import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { By } from '#platform/audit/audit.ts'
import type { AdminDeps } from './cli-deps.ts'
import { printable, printableJson } from './printable.ts'

/** Shared by all commands. */
export interface AdminContext {
  /** The actor of changes: `cli:<os user>`. */
  readonly by: By
  /** `--json` was given: exactly one JSON document is printed. */
  readonly json: boolean
  /** 1 if the command worked but found a fault. */
  exitCode: number
  /** Creates the dependencies of a command, with or without a running gateway, and closes them afterwards. */
  withDeps<Result>(work: (deps: AdminDeps) => Promise<Result>): Promise<Result>
  /** Prints the result: `human` on a terminal, `json` with --json (bigint as an integer, Date as RFC 3339). */
  print(human: string, json: unknown): void
  /** Prints a line to stderr during a long command; nothing with --json. */
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
      // Imported here because `--help` does not need a database driver.
      const { createAdminDeps } = await import('./cli-deps.ts')
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
 * The person who runs the command. For root it is SUDO_USER, because “root” would not identify a person in the audit log;
 * for other users SUDO_USER is not trusted. ops/dealer-esim-admin runs as the service's user and passes on its caller.
 */
function osUser(): string {
  const sudoer = process.getuid?.() === 0 ? process.env.SUDO_USER : undefined
  const name = sudoer || callerFromSystemd(process.env.CREDENTIALS_DIRECTORY)
  if (name) return name
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown') // a user id without a name, as in containers
  }
}

/** Only systemd, started by root, writes to this folder. */
const CREDENTIALS = /^\/run\/credentials\/[\w@.:-]+$/

function callerFromSystemd(folder: string | undefined): string | undefined {
  if (folder === undefined || !CREDENTIALS.test(folder)) return undefined
  try {
    return readFileSync(join(folder, 'operator'), 'utf8').trim()
  } catch {
    return undefined // the folder holds other credentials
  }
}
