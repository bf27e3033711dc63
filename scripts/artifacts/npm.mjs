// The npm packages: @dealer-esim/gateway with everything that it runs, and @dealer-esim/sdk.

import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lockedComponents } from './components.mjs'
import { writeSbom } from './sbom.mjs'

/** @param {import('../dist.mjs').Release} release */
export function packNpm({ root, output, staged, commit, time }) {
  const { folder, manifest, components } = staged
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', output]
  execFileSync('npm', pack, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  const env = { ...process.env, RELEASE_COMMIT: commit }
  const bundled = join(folder, '..', `sdk-components-${process.pid}.json`)
  execFileSync(process.execPath, [join(root, 'scripts/pack.mjs'), output, bundled], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const native = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  const installed = lockedComponents(
    root,
    native.map((name) => `node_modules/${name}`),
  )
  const { name, version } = manifest
  writeSbom(join(output, `dealer-esim-gateway-${version}.npm.cdx.json`), {
    name,
    version,
    time,
    components: [...components, ...installed],
  })
  const sdk = { name: '@dealer-esim/sdk', version, time }
  writeSbom(join(output, `dealer-esim-sdk-${version}.npm.cdx.json`), {
    ...sdk,
    components: [...lockedComponents(root, ['node_modules/commander']), ...JSON.parse(readFileSync(bundled, 'utf8'))],
  })
  rmSync(bundled)
}
