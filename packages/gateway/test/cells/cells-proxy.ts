import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'
import { admin } from '../harness/processes/admin-process.ts'
import { freePort } from '../harness/processes/free-port.ts'
import { temporaryFolder } from '../harness/processes/gateway-process.ts'
import { createAuthority } from '../harness/servers/certificates.ts'
import { waitUntil } from '../harness/shop.ts'
import { isListening } from '../platform/deployment/proxies.ts'

/** HAProxy in front of all cells, with the configuration that `admin cells proxy` writes. */
export interface CellsProxy {
  baseUrl: string
  /** A command that writes the configuration again and reloads it. */
  reload: string
  stop(): Promise<void>
}

/** @param cellsFile the path of the file of cells */
export async function startCellsProxy(cellsFile: string): Promise<CellsProxy> {
  const folder = temporaryFolder('cells-proxy')
  const port = await freePort()
  const [certificate, config, script] = ['esim.pem', 'haproxy.cfg', 'reload.sh'].map((name) => join(folder, name))
  const { cert, key } = createAuthority('Test authority').issue('localhost')
  writeFileSync(certificate!, cert + key)
  const args = ['cells', 'proxy', 'haproxy', '--file', cellsFile]
  args.push('--listen', `127.0.0.1:${port}`, '--certificate', certificate!)
  const { code, stdout, stderr } = await admin(args, {})
  if (code !== 0) throw new Error(`cells proxy ended with ${code}: ${stderr}`)
  writeFileSync(config!, stdout)
  // Its master process replaces the worker on SIGUSR2.
  const child = spawn('haproxy', ['-W', '-f', config!], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  await waitUntil(async () => {
    if (child.exitCode !== null) throw new Error(`haproxy did not start:\n${log}`)
    return isListening(port)
  })
  const write = [process.execPath, join(packageRoot(), 'dist/admin.js'), ...args].join(' ')
  writeFileSync(script!, `set -e\n${write} > ${config}.new\nmv ${config}.new ${config}\nkill -USR2 ${child.pid}\n`)
  chmodSync(script!, 0o755)
  return {
    baseUrl: `https://localhost:${port}`,
    reload: `/bin/sh ${script}`,
    async stop() {
      if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'close')
    },
  }
}
