// npm run pack -- [FOLDER]: makes the packages that are published, as tarballs in FOLDER (default: pack/). Inside the
// workspace a package's exports are its TypeScript sources; what publishConfig says instead holds in the tarball. npm by
// itself would not apply that, so it is done here.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsdown'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const target = resolve(process.argv[2] ?? join(root, 'pack'))
const PACKAGES = ['contract', 'sdk']

mkdirSync(target, { recursive: true })
const work = mkdtempSync(join(tmpdir(), 'dealer-esim-pack-'))
try {
  for (const name of PACKAGES) {
    const source = join(root, 'packages', name)
    const staged = join(work, name)
    mkdirSync(staged)
    await build({
      cwd: source,
      config: join(source, 'tsdown.config.ts'),
      outDir: join(staged, 'dist'),
      logLevel: 'error',
    })
    const {
      publishConfig,
      devDependencies: _,
      ...manifest
    } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
    const { exports, bin, ...publishing } = publishConfig
    const published = { ...manifest, exports, ...(bin ? { bin } : {}), publishConfig: publishing }
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
    for (const file of ['README.md', '../../LICENSE']) {
      if (existsSync(join(source, file))) cpSync(join(source, file), join(staged, file.split('/').at(-1)))
    }
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', target], {
      cwd: staged,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
