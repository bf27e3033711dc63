import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder packages/gateway, or the installed package: found both from the sources and from the bundle in dist. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error(`no package.json above ${import.meta.url}`)
    folder = parent
  }
  return folder
}

/** The folder of the gateway's migrations. */
export function migrationsFolder(): string {
  return join(packageRoot(), 'migrations')
}

/** The folder that contains docs/: inside an installed package, but beside packages/ in a checkout. */
export function documentsRoot(): string {
  const root = packageRoot()
  return existsSync(join(root, 'docs')) ? root : join(root, '../..')
}

/** The built console. */
export function consoleFolder(): string {
  const installed = join(packageRoot(), 'console')
  return existsSync(installed) ? installed : join(packageRoot(), '../console/dist')
}

/** The program that simulates wholesalers. */
export function simulatorProgram(): string {
  const installed = join(packageRoot(), 'dist/wholesaler-simulator.js')
  return existsSync(installed)
    ? installed
    : join(packageRoot(), '../wholesaler-simulators/bin/wholesaler-simulator.mjs')
}
