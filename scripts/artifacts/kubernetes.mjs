// The manifests with their overlays, of this release.

import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeSbom } from './sbom.mjs'
import { filesUnder } from './stage.mjs'

/** @param {import('../dist.mjs').Release} release */
export function packKubernetes({ root, work, output, staged, time }) {
  const { version } = staged.manifest
  const name = `dealer-esim-gateway-${version}-kubernetes`
  const folder = join(work, name)
  cpSync(join(root, 'ops/kubernetes'), folder, { recursive: true })
  for (const file of filesUnder(folder)) {
    const path = join(folder, file)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('@VERSION@', version))
  }
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', folder])
  const pack = ['--sort=name', `--mtime=@${time}`, '--owner=0', '--group=0', '--numeric-owner', '-I', 'gzip -n']
  execFileSync('tar', [...pack, '-cf', join(output, `${name}.tgz`), '-C', work, name])
  writeSbom(join(output, `${name}.cdx.json`), { name: 'dealer-esim-gateway', version, time, components: [] })
}
