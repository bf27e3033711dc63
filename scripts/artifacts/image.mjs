// The container image, built by buildah without a container engine, as an archive that `docker load` and `podman load` read; its
// build context; and compose.yaml. The default base is our own: Debian's libraries and Node, made by mmdebstrap.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchNative, fetchNode, nodeComponent } from './native.mjs'
import { writeSbom } from './sbom.mjs'

const NAME = 'dealer-esim-gateway'

/** @param {import('../dist.mjs').Release} release */
export function buildImage({ root, work, output, staged, time, arch, base }) {
  const { version } = staged.manifest
  const context = join(work, 'image')
  cpSync(staged.folder, join(context, 'gateway'), { recursive: true })
  const native = fetchNative(root, ['x64', 'arm64'], join(context, 'gateway/node_modules'))
  for (const name of ['dealer-esim-gateway', 'dealer-esim-admin'])
    symlinkSync(`${name}.mjs`, join(context, 'gateway/bin', name))
  const ops = join(root, 'ops/container')
  cpSync(join(ops, 'Containerfile'), join(context, 'Containerfile'))
  const compose = readFileSync(join(ops, 'compose.yaml'), 'utf8').replaceAll('@VERSION@', version)
  writeFileSync(join(output, 'compose.yaml'), compose)
  const pack = ['--sort=name', `--mtime=@${time}`, '--owner=0', '--group=0', '--numeric-owner', '-I', 'gzip -n']
  const contextFile = join(output, `${NAME}-${version}-image-context.tgz`)
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', context])
  execFileSync('tar', [...pack, '-cf', contextFile, '-C', context, '.'])

  const architecture = { x64: 'amd64', arm64: 'arm64' }[arch]
  const tag = `${NAME}:${version}`
  const buildah = buildahIn(work)
  const own = base === undefined ? ownBase({ work, arch, architecture, buildah }) : undefined
  const from = base ?? OWN_BASE
  const build = [
    '--format',
    'docker',
    '--timestamp',
    String(time),
    '--arch',
    architecture,
    '--build-arg',
    `BASE=${from}`,
  ]
  buildah('bud', ...build, '--tag', tag, context)
  const file = join(output, `${NAME}-${version}-image-${architecture}.tar`)
  buildah('push', tag, `docker-archive:${file}:${tag}`)
  writeSbom(`${file}.cdx.json`, {
    ...{ name: NAME, version, time },
    components: [...staged.components, ...native],
    others: own ?? [], // what another base brings, its own SBOM says
  })
}

/** Storage of its own, so that a build leaves nothing on the machine. @param {string} work */
function buildahIn(work) {
  const env = { STORAGE_DRIVER: 'vfs', BUILDAH_ISOLATION: 'chroot', ...process.env }
  const storage = ['--root', join(work, 'containers'), '--runroot', join(work, 'containers-run')]
  return (/** @type {string[]} */ ...args) =>
    execFileSync('buildah', [...storage, ...args], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim()
}

/** Only extracted: Node needs the libraries of these packages, and nothing needs their install scripts. */
const PACKAGES = 'base-files,coreutils,dash,libc6,libgcc-s1,libstdc++6,tzdata'
const OWN_BASE = 'localhost/dealer-esim-base'
const USERS = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n'

/**
 * @param {{ work: string, arch: string, architecture: string, buildah: (...args: string[]) => string }} input
 * @returns what it contains, for the SBOM
 */
function ownBase({ work, arch, architecture, buildah }) {
  const tar = join(work, 'base.tar')
  const packages = join(work, 'base-packages')
  const sources = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'].filter(existsSync).slice(0, 1)
  const without = ['doc', 'man', 'locale', 'info'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`)
  const options = [
    '--quiet',
    '--variant=extract',
    `--architectures=${architecture}`,
    `--include=${PACKAGES}`,
    `--extract-hook=ls "$1"/var/cache/apt/archives >'${packages}'`,
    ...without,
  ]
  execFileSync('mmdebstrap', [...options, 'bookworm', tar, ...sources], { stdio: ['ignore', 'ignore', 'inherit'] })
  const node = join(work, `node-image-${arch}`)
  fetchNode(arch, node)
  const bin = join(work, 'base/usr/local/bin')
  mkdirSync(bin, { recursive: true })
  cpSync(join(node, 'bin/node'), join(bin, 'node'))
  if (arch === process.arch) execFileSync('strip', ['--strip-unneeded', join(bin, 'node')])
  cpSync(join(node, 'LICENSE'), join(work, 'base/usr/share/doc/node/LICENSE'))
  mkdirSync(join(work, 'base/etc'))
  writeFileSync(join(work, 'base/etc/passwd'), USERS)
  const container = buildah('from', 'scratch')
  buildah('add', container, tar, '/')
  buildah('add', container, join(work, 'base'), '/')
  buildah('commit', '--rm', container, 'dealer-esim-base')
  return [nodeComponent(), ...debianComponents(readFileSync(packages, 'utf8'))]
}

/** @param {string} files such as libc6_2.36-9+deb12u14_amd64.deb, one on each line */
function debianComponents(files) {
  return [...files.matchAll(/^(.+)_(.+)_(.+)\.deb$/gm)].map(([, name = '', encoded = '', architecture]) => {
    const version = decodeURIComponent(encoded)
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`
    return { type: 'library', 'bom-ref': purl, name, version, purl }
  })
}
