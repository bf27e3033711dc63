import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Finds the folder packages/gateway, from its sources as well as from the bundle in dist. */
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
