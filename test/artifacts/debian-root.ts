import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { root } from '../local-gateway.ts'

/** Debian 12 as in a minimal installation, made once from the packages of this machine's mirror. */
function debianBase(): string {
  const cache = join(root, 'node_modules/.cache')
  const base = join(cache, 'debian-base.tar')
  if (existsSync(base)) return base
  mkdirSync(cache, { recursive: true })
  const draft = `${base}.${process.pid}.tar`
  const sources = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'].filter(existsSync).slice(0, 1)
  const include = '--include=adduser,ca-certificates,libstdc++6,systemd,dbus'
  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', include, 'bookworm', draft, ...sources], {
    stdio: 'pipe',
  })
  renameSync(draft, base)
  return base
}

/** Unpacks the base into a new folder. */
export function unpackBase(folder: string): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['xf', debianBase(), '-C', folder, '--numeric-owner'])
}

/**
 * True if these programs are installed and we may create namespaces of these kinds; otherwise prints which tests do not
 * run.
 */
export function mayUnshare(what: string, kinds: string[], ...programs: string[]): boolean {
  if (process.getuid?.() !== 0 || !canRun(what, 'unshare', ...programs)) return false
  try {
    execFileSync('unshare', [...kinds, 'true'], { stdio: 'pipe' })
    return true
  } catch (error) {
    console.warn(
      `NOT RUN: ${what}. It needs a machine, or a container with the right CAP_SYS_ADMIN: ${(error as Error).message}`,
    )
    return false
  }
}

interface In {
  folder: string
  /** Name or number in the root; default root. */
  user?: string
  readOnly?: boolean
}

/** The command that runs a command in the root. Its mounts end with it: nothing has to be unmounted. */
export function inRoot({ folder, user = '0:0', readOnly = false }: In, command: string[]): string[] {
  const mounts = `mount --make-rprivate / && mount --bind "$1" "$1" && mount -t proc proc "$1/proc"
[ "$3" = ro ] && mount -t tmpfs tmpfs "$1/tmp" && mount -o remount,bind,ro "$1"
root=$1 user=$2; shift 3; exec chroot --userspec="$user" "$root" "$@"`
  return ['unshare', '-m', 'sh', '-c', mounts, 'sh', folder, user, readOnly ? 'ro' : 'rw', ...command]
}
