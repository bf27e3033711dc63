import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { root } from '../local-gateway.ts'

export interface Registry {
  url: string
  close(): void
}

/**
 * An npm registry on loopback, with the built tarballs and their dependencies as installed here. It has no other packages,
 * so anything else that the tarballs need cannot be installed.
 */
export async function startRegistry(tarballs: string[], dependencies: string[], folder: string): Promise<Registry> {
  mkdirSync(folder, { recursive: true })
  const packages = new Map<string, { manifest: Manifest; tarball: Buffer }>()
  for (const file of [...tarballs, ...dependencies.map((name) => packInstalled(name, folder))]) {
    const manifest = JSON.parse(
      execFileSync('tar', ['xzOf', file, '--wildcards', '*/package.json', '--no-wildcards-match-slash'], {
        encoding: 'utf8',
      }),
    ) as Manifest
    packages.set(manifest.name, { manifest, tarball: readFileSync(file) })
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1)
    const found = packages.get(path.replace(/\.tgz$/, ''))
    if (!found) return void response.writeHead(404).end('{}')
    if (path.endsWith('.tgz')) return void response.end(found.tarball)
    const { manifest, tarball } = found
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    const dist = { tarball: `${url}/${manifest.name}.tgz`, integrity }
    const versions = { [manifest.version]: { ...manifest, dist } }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ name: manifest.name, 'dist-tags': { latest: manifest.version }, versions }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, close: () => server.close() }
}

interface Manifest {
  name: string
  version: string
}

function packInstalled(name: string, folder: string): string {
  const file = join(folder, `${name.replace('/', '-')}.tgz`)
  const source = join(root, 'node_modules', name)
  execFileSync('tar', ['-C', source, '--transform', 's,^\\.,package,', '-I', 'gzip -1', '-cf', file, '.'])
  return file
}
