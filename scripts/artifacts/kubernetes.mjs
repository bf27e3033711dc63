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
  const images = new Set()
  for (const file of filesUnder(folder)) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8').replaceAll('@VERSION@', version)
    writeFileSync(path, text)
    // The overlays replace the tag by this release.
    for (const [, image] of text.matchAll(/^ *image: ([^\s:]+):latest$/gm)) images.add(image)
  }
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', folder])
  const pack = ['--sort=name', `--mtime=@${time}`, '--owner=0', '--group=0', '--numeric-owner', '-I', 'gzip -n']
  execFileSync('tar', [...pack, '-cf', join(output, `${name}.tgz`), '-C', work, name])
  writeSbom(join(output, `${name}.cdx.json`), {
    ...{ name: 'dealer-esim-gateway', version, time },
    components: [],
    others: [...images].sort().map((image) => imageComponent(image, version)),
  })
}

/** @param {string} name @param {string} version */
function imageComponent(name, version) {
  const purl = `pkg:docker/${name}@${version}`
  return { type: 'container', 'bom-ref': purl, name, version, purl }
}
