import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type NetConnectOpts } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { mayUnshare } from './debian-root.ts'

/** A network with loopback only, as on a machine without internet access. */
export interface AirGap {
  /** The command that runs another command in the network. */
  enter: string[]
  /** A URL of this machine, which leads to the gateway's port there. */
  url: string
  close(): void
}

export function hasAirGaps(): boolean {
  return mayUnshare('what needs a network of its own', ['--mount', '--net', '--pid', '--fork'], 'nsenter', 'ip')
}

/**
 * Sockets are files, which do not belong to a network: two of them forward one port in and one out. Its process keeps the
 * network.
 */
const BRIDGE = `
const { connect, createServer } = require('node:net')
const { pipeline } = require('node:stream')
const [folder, gateway, database] = process.argv.slice(1)
const lead = (to) => (socket) => { const onward = connect(to); pipeline(socket, onward, socket, () => {}) }
createServer(lead({ host: '127.0.0.1', port: Number(gateway) })).listen(folder + '/in')
createServer(lead(folder + '/out')).listen(Number(database), '127.0.0.1', () => console.log('ready'))
`

/** @param ports the gateway's, and the database's of this machine, which has the same number there */
export async function startAirGap(ports: { gateway: number; database: number }): Promise<AirGap> {
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-air-gap-'))
  const lead = (to: NetConnectOpts) => createServer((socket) => pipeline(socket, connect(to), socket, () => {}))
  const out = lead({ host: '127.0.0.1', port: ports.database }).listen(join(folder, 'out'))
  const into = lead({ path: join(folder, 'in') }).listen(0, '127.0.0.1')
  const bridge = [process.execPath, '-e', BRIDGE, folder, String(ports.gateway), String(ports.database)]
  const script = 'ip link set lo up && exec "$@"'
  const child = spawn('unshare', ['--net', 'sh', '-c', script, 'sh', ...bridge], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const watchdog = signalOnExit(child.pid!, 'KILL')
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve)
    child.once('exit', (code) => reject(new Error(`the bridge ended with ${code}`)))
  })
  return {
    enter: ['nsenter', `--net=/proc/${child.pid}/ns/net`],
    url: `http://127.0.0.1:${(into.address() as AddressInfo).port}`,
    close() {
      watchdog.cancel()
      child.kill('SIGKILL')
      for (const server of [out, into]) server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
