import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { expect } from 'vitest'
import { run } from './service.ts'

/** A Debian that its own systemd has started, in namespaces. */
export interface DebianMachine {
  run(command: string[], env?: Record<string, string>): Promise<string>
  stop(): Promise<void>
}

const PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
const CGROUPS = '/sys/fs/cgroup'
/** Version 2, also beside version 1. */
const HIERARCHY = existsSync(join(CGROUPS, 'cgroup.controllers')) ? CGROUPS : join(CGROUPS, 'unified')

/** What a container manager prepares for systemd. Devices are those that every program has; none of the machine's own. */
const START = `
mount --make-rprivate / && mount --bind "$1" "$1" && cd "$1"
mount -t proc proc proc && mount -t sysfs -o ro sysfs sys
for folder in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs $folder; done
chmod 1777 tmp
for device in null zero full random urandom tty; do touch dev/$device && mount --bind /dev/$device dev/$device; done
mkdir dev/pts dev/shm && mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts && ln -s pts/ptmx dev/ptmx
mount -t cgroup2 cgroup2 sys/fs/cgroup
pivot_root . mnt && umount -l mnt && mount --make-rshared /
exec env -i container=test PATH=${PATH} /lib/systemd/systemd --unit=basic.target
`

/** Starts the systemd of an unpacked Debian. @param enter the command that enters its network */
export async function startDebian(folder: string, enter: string[]): Promise<DebianMachine> {
  const group = join(HIERARCHY, `dealer-esim-${process.pid}`)
  mkdirSync(group)
  const inGroup = ['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', group]
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--uts', '--ipc', '--cgroup']
  const start = ['sh', '-ec', START, 'sh', folder]
  const [program = '', ...args] = [...enter, ...inGroup, ...namespaces, ...start]
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const children = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()
  await expect.poll(children, { timeout: 60_000 }).toMatch(/^\d+$/)
  const init = Number(children())
  const watchdog = signalOnExit(init, 'KILL')
  const inside = ['nsenter', '--target', String(init), '--all', '--root', 'env', '-C', '/']
  const machine = {
    run: (command: string[], env: Record<string, string> = {}) =>
      run([...inside, ...command], { cwd: '/', env: { PATH, DEBIAN_FRONTEND: 'noninteractive', ...env } }),
    async stop() {
      watchdog.cancel()
      process.kill(init, 'SIGKILL')
      await ended
      execFileSync('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';'])
    },
  }
  const state = () => machine.run(['systemctl', 'is-active', 'basic.target']).catch(String)
  await expect.poll(state, { timeout: 120_000 }).toBe('active\n')
  return machine
}
