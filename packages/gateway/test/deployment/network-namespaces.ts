import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'

/** Machines with addresses of their own, which can be cut off from each other without an error to either side. */
export interface Network {
  addressOf(machine: string): string
  /** The command that runs another command on the machine. */
  enter(machine: string): string[]
  /** Packets between the machine and the others vanish. This process still reaches it, unless `alsoFromUs`. */
  cutOff(machine: string, options: { alsoFromUs: boolean }): void
  reconnect(machine: string): void
  remove(): void
}

/** @returns undefined where the kernel or our rights allow no network namespaces; the caller says what is not tested then */
export function createNetwork(machines: readonly string[]): Network | undefined {
  if (process.getuid!() !== 0) return undefined
  const id = randomInt(0x10000).toString(16)
  // Reserved for tests of networks (RFC 2544).
  const subnet = `198.18.${randomInt(256)}`
  const hub = `esim-${id}-hub`
  const ours = `esim-${id}`
  const namespaceOf = (machine: string) => `esim-${id}-${machine}`
  const addressOf = (machine: string) => `${subnet}.${machines.indexOf(machine) + 2}`

  function remove(): void {
    for (const name of [hub, ...machines.map(namespaceOf)]) {
      try {
        ip('netns', 'del', name)
      } catch {
        // It was not created.
      }
    }
  }
  try {
    ip('netns', 'add', hub)
    ip('-n', hub, 'link', 'add', 'name', 'hub', 'type', 'bridge')
    ip('-n', hub, 'link', 'set', 'dev', 'hub', 'up')
    for (const machine of machines) {
      const namespace = namespaceOf(machine)
      const port = `port-${machines.indexOf(machine)}`
      ip('netns', 'add', namespace)
      ip('link', 'add', 'name', 'eth0', 'netns', namespace, 'type', 'veth', 'peer', 'name', port, 'netns', hub)
      ip('-n', hub, 'link', 'set', 'dev', port, 'master', 'hub', 'up')
      ip('-n', namespace, 'link', 'set', 'dev', 'lo', 'up')
      ip('-n', namespace, 'link', 'set', 'dev', 'eth0', 'up')
      ip('-n', namespace, 'addr', 'add', `${addressOf(machine)}/24`, 'dev', 'eth0')
    }
    ip('link', 'add', 'name', ours, 'type', 'veth', 'peer', 'name', 'port-us', 'netns', hub)
    ip('-n', hub, 'link', 'set', 'dev', 'port-us', 'master', 'hub', 'up')
    ip('addr', 'add', `${subnet}.1/24`, 'dev', ours)
    ip('link', 'set', 'dev', ours, 'up')
  } catch {
    remove()
    return undefined
  }
  const us = { prefix: [], device: ours, address: `${subnet}.1` }
  const sideOf = (machine: string): Side => ({
    prefix: ['-n', namespaceOf(machine)],
    device: 'eth0',
    address: addressOf(machine),
  })
  const others = (machine: string) => machines.filter((other) => other !== machine).map(sideOf)
  return {
    addressOf,
    enter: (machine) => ['ip', 'netns', 'exec', namespaceOf(machine)],
    cutOff(machine, { alsoFromUs }) {
      for (const other of [...others(machine), ...(alsoFromUs ? [us] : [])]) {
        forget(sideOf(machine), other)
        forget(other, sideOf(machine))
      }
    },
    reconnect(machine) {
      for (const other of [...others(machine), us]) {
        remember(sideOf(machine), other)
        remember(other, sideOf(machine))
      }
    },
    remove,
  }
}

/** One end of a link between two machines. */
interface Side {
  /** The command that lets `ip` act on this side. */
  prefix: string[]
  device: string
  address: string
}

const UNUSED_ADDRESS = '02:00:00:00:00:01'

/** Packets to the other side get a hardware address that no machine has. */
function forget({ prefix, device }: Side, { address }: Side): void {
  ip(...prefix, 'neigh', 'replace', address, 'lladdr', UNUSED_ADDRESS, 'nud', 'permanent', 'dev', device)
}

function remember({ prefix, device }: Side, { address }: Side): void {
  try {
    ip(...prefix, 'neigh', 'del', address, 'dev', device)
  } catch {
    // It was not cut off.
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: 'ignore' })
}
