// npm run pack -- [FOLDER [FILE]]: packs the SDK as a tarball in FOLDER (default: pack/), and lists the packages that it contains
// in FILE; npm run dist packs everything. Inside the workspace the SDK's exports are TypeScript sources; publishConfig has the
// exports of the tarball, which this script applies because npm does not.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsdown'
import { componentsOf, licenceTexts } from './artifacts/components.mjs'
import { withPlainTypes } from './plain-types.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const source = join(root, 'packages/sdk')
const target = resolve(process.argv[2] ?? join(root, 'pack'))

mkdirSync(target, { recursive: true })
const staged = mkdtempSync(join(tmpdir(), 'dealer-esim-pack-'))
try {
  const dist = join(staged, 'dist')
  await build({
    cwd: source,
    config: join(source, 'tsdown.config.ts'),
    outDir: dist,
    logLevel: 'error',
    sourcemap: 'hidden',
  })
  // The maps say which packages are in the bundles; nobody needs them afterwards.
  const components = componentsOf(root, [dist])
  writeFileSync(join(staged, 'THIRD-PARTY-LICENCES.txt'), licenceTexts(root, components))
  if (process.argv[3]) writeFileSync(process.argv[3], JSON.stringify(components))
  for (const file of readdirSync(dist)) if (file.endsWith('.map')) rmSync(join(dist, file))
  const declarations = withPlainTypes(readFileSync(join(dist, 'index.d.ts'), 'utf8'))
  for (const name of ['index.d.ts', 'index.d.cts']) writeFileSync(join(dist, name), declarations)
  const {
    publishConfig,
    devDependencies: _,
    imports: __,
    ...manifest
  } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const { access, ...published } = publishConfig
  const packed = { ...manifest, ...published, publishConfig: { access } }
  writeFileSync(join(staged, 'package.json'), `${JSON.stringify(packed, null, 2)}\n`)
  cpSync(join(source, 'README.md'), join(staged, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(staged, 'LICENSE'))
  // npm packs the modes that the files have here, which depend on the umask.
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', staged])
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', target], {
    cwd: staged,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
} finally {
  rmSync(staged, { recursive: true, force: true })
}
