import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'

/** The identity of this run's network. Tests get it from the setup below. */
interface NetworkPlan {
  id: string
  /** The first three numbers of its addresses. */
  subnet: string
}

declare module 'vitest' {
  interface ProvidedContext {
    /** null if the kernel or our permissions do not allow network namespaces. */
    network: NetworkPlan | null
  }
}

/** Machines with their own addresses, which can be isolated from each other without an error on either side. */
export interface Network {
  addressOf(machine: string): string
  /** The command prefix that runs another command on the machine. */
  enter(machine: string): string[]
  /** Packets between the machine and the others are dropped. This process can still reach it, unless `alsoFromUs` is set. */
  cutOff(machine: string, options: { alsoFromUs: boolean }): void
  reconnect(machine: string): void
}

export const MACHINES: readonly string[] = ['monitor', 'one', 'two']

/**
 * Creates the network before the tests of a run, and removes it afterwards: a browser aborts its requests while its
 * machine's interfaces or addresses change (net::ERR_NETWORK_CHANGED), even those to the machine itself.
 */
export default function setup(project: TestProject): () => void {
  const plan = createNetwork()
  project.provide('network', plan ?? null)
  return () => plan && removeNetwork(plan)
}

function createNetwork(): NetworkPlan | undefined {
  if (process.getuid!() !== 0) return undefined
  // Reserved for network tests (RFC 2544).
  const plan = { id: randomInt(0x10000).toString(16), subnet: `198.18.${randomInt(256)}` }
  const hub = hubOf(plan)
  const ours = deviceOf(plan)
  try {
    ip('netns', 'add', hub)
    ip('-n', hub, 'link', 'add', 'name', 'hub', 'type', 'bridge')
    ip('-n', hub, 'link', 'set', 'dev', 'hub', 'up')
    for (const [index, machine] of MACHINES.entries()) {
      const namespace = namespaceOf(plan, machine)
      const port = `port-${index}`
      ip('netns', 'add', namespace)
      ip('link', 'add', 'name', 'eth0', 'netns', namespace, 'type', 'veth', 'peer', 'name', port, 'netns', hub)
      ip('-n', hub, 'link', 'set', 'dev', port, 'master', 'hub', 'up')
      ip('-n', namespace, 'link', 'set', 'dev', 'lo', 'up')
      ip('-n', namespace, 'link', 'set', 'dev', 'eth0', 'up')
      ip('-n', namespace, 'addr', 'add', `${addressOf(plan, machine)}/24`, 'dev', 'eth0')
    }
    ip('link', 'add', 'name', ours, 'type', 'veth', 'peer', 'name', 'port-us', 'netns', hub)
    ip('-n', hub, 'link', 'set', 'dev', 'port-us', 'master', 'hub', 'up')
    ip('addr', 'add', `${plan.subnet}.1/24`, 'dev', ours)
    ip('link', 'set', 'dev', ours, 'up')
  } catch {
    removeNetwork(plan)
    return undefined
  }
  return plan
}

function removeNetwork(plan: NetworkPlan): void {
  for (const name of [hubOf(plan), ...MACHINES.map((machine) => namespaceOf(plan, machine))]) {
    try {
      ip('netns', 'del', name)
    } catch {
      // It was not created.
    }
  }
}

const hubOf = ({ id }: NetworkPlan) => `esim-${id}-hub`
const deviceOf = ({ id }: NetworkPlan) => `esim-${id}`
const namespaceOf = ({ id }: NetworkPlan, machine: string) => `esim-${id}-${machine}`
const addressOf = ({ subnet }: NetworkPlan, machine: string) => `${subnet}.${MACHINES.indexOf(machine) + 2}`

/** The network of this run. @returns undefined if it could not be created; the caller then names what is not tested */
export function openNetwork(): Network | undefined {
  const plan = inject('network')
  if (plan === null) return undefined
  const us = { prefix: [], device: deviceOf(plan), address: `${plan.subnet}.1` }
  const sideOf = (machine: string): Side => ({
    prefix: ['-n', namespaceOf(plan, machine)],
    device: 'eth0',
    address: addressOf(plan, machine),
  })
  const others = (machine: string) => MACHINES.filter((other) => other !== machine).map(sideOf)
  return {
    addressOf: (machine) => addressOf(plan, machine),
    enter: (machine) => ['ip', 'netns', 'exec', namespaceOf(plan, machine)],
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
  }
}

/** One end of a link between two machines. */
interface Side {
  /** The command that makes `ip` act on this side. */
  prefix: string[]
  device: string
  address: string
}

const UNUSED_ADDRESS = '02:00:00:00:00:01'

/** Packets to the other side get a hardware address that belongs to no machine. */
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
