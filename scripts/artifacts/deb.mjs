// The Debian package: the gateway with its own Node (Debian 12 has an older one), its unit, and both commands on PATH.

import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { fetchNative, fetchNode, nodeComponent } from './native.mjs'
import { writeSbom } from './sbom.mjs'
import { filesUnder } from './stage.mjs'

const NAME = 'dealer-esim-gateway'
const LIBRARY = `usr/lib/${NAME}`

/** @param {import('../dist.mjs').Release} release */
export function buildDeb({ root, work, output, staged, time, arch }) {
  const tree = join(work, `deb-${arch}`)
  const at = (/** @type {string} */ path) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    return join(tree, path)
  }
  const write = (/** @type {string} */ path, /** @type {string | Buffer} */ text, mode = 0o644) => {
    writeFileSync(at(path), text)
    chmodSync(join(tree, path), mode)
  }
  const source = (/** @type {string} */ name) => readFileSync(join(root, 'ops', name), 'utf8')
  const { version } = staged.manifest
  const { author: maintainer } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

  cpSync(staged.folder, at(LIBRARY), { recursive: true })
  for (const name of ['bin', 'ops', 'README.md', 'LICENSE']) rmSync(join(tree, LIBRARY, name), { recursive: true })
  const native = fetchNative(root, [arch], join(tree, LIBRARY, 'node_modules'))
  const node = join(work, `node-${arch}`)
  fetchNode(arch, node)
  cpSync(join(node, 'bin/node'), at(`${LIBRARY}/node`))
  // Debug information is a fifth of it. Only this machine's own tools can remove it.
  if (arch === process.arch) execFileSync('strip', ['--strip-unneeded', join(tree, LIBRARY, 'node')])

  write(`lib/systemd/system/dealer-esim.service`, unitOf(source('dealer-esim.service')))
  write('lib/systemd/system/dealer-esim-backup.service', packagedPaths(source('dealer-esim-backup.service')))
  write('lib/systemd/system/dealer-esim-backup.timer', source('dealer-esim-backup.timer'))
  write(`usr/bin/dealer-esim-admin`, source('debian/dealer-esim-admin'), 0o755)
  write(`usr/bin/${NAME}`, source(`debian/${NAME}`), 0o755)
  for (const name of ['alerts.yml', 'grafana-dashboard.json']) write(`usr/share/${NAME}/${name}`, source(name))
  write('usr/share/bash-completion/completions/dealer-esim-admin', completionOf(root, work, staged.folder))
  for (const name of ['dealer-esim-admin', NAME])
    write(`usr/share/man/man8/${name}.8.gz`, packed(source(`debian/${name}.8`)))
  write(`usr/share/doc/${NAME}/copyright`, source('debian/copyright'))
  cpSync(join(node, 'LICENSE'), at(`${LIBRARY}/LICENSE.node`))
  write(`usr/share/doc/${NAME}/changelog.gz`, packed(changelogOf({ version, time, maintainer })))
  write(`usr/share/lintian/overrides/${NAME}`, source('debian/lintian-overrides'))
  mkdirSync(join(tree, 'etc/dealer-esim'), { recursive: true })

  const kilobytes = Number(execFileSync('du', ['-sk', '--apparent-size', tree], { encoding: 'utf8' }).split('\t')[0])
  const architecture = { x64: 'amd64', arm64: 'arm64' }[arch]
  write(
    'DEBIAN/control',
    source('debian/control')
      .replace('@VERSION@', version)
      .replace('@MAINTAINER@', maintainer)
      .replace('@ARCH@', architecture)
      .replace('@SIZE@', String(kilobytes)),
  )
  for (const name of ['postinst', 'prerm', 'postrm']) write(`DEBIAN/${name}`, source(`debian/${name}`), 0o755)
  write('DEBIAN/md5sums', sumsOf(tree))
  setModesAndTimes(tree, time)
  const file = join(output, `${NAME}_${version}_${architecture}.deb`)
  // gzip: a third of xz's time for a tenth more.
  const build = ['--root-owner-group', '-Zgzip', '-z6', '--build', tree, file]
  execFileSync('dpkg-deb', build, {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(time) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const components = [...staged.components, ...native]
  writeSbom(`${file}.cdx.json`, { name: NAME, version, time, components, others: [nodeComponent()] })
}

/** The unit of a checkout, with the package's paths. @param {string} text */
function unitOf(text) {
  const body = text.slice(text.indexOf('[Unit]'))
  return `# Variables: /etc/dealer-esim/environment, which dealer-esim-admin setup writes. To run only one role, enter with
# systemctl edit dealer-esim (the empty ExecStart removes the command below):
#
#   [Service]
#   ExecStart=
#   ExecStart=/${LIBRARY}/node --max-semi-space-size=32 dist/main.js --role worker
${packagedPaths(body).replace('[Service]', 'ConditionPathExists=/etc/dealer-esim/environment\n\n[Service]')}`
}

/** @param {string} text of a unit for a checkout */
function packagedPaths(text) {
  return text
    .replaceAll('/opt/dealer-esim', `/${LIBRARY}`)
    .replace('/usr/bin/node', `/${LIBRARY}/node`)
    .replace('scripts/start.mjs', 'dist/main.js')
    .replace('scripts/admin.mjs', 'dist/admin.js')
}

/** Runs the bundle, with the native package of this machine beside it. @param {string} root @param {string} work @param {string} folder */
function completionOf(root, work, folder) {
  fetchNative(root, [process.arch], join(work, 'node_modules'))
  return execFileSync(process.execPath, [join(folder, 'dist/admin.js'), 'completion', 'bash'], { encoding: 'utf8' })
}

/** @param {string} text */
function packed(text) {
  return gzipSync(text, { level: 9 })
}

/** @param {{ version: string, time: number, maintainer: string }} release */
function changelogOf({ version, time, maintainer }) {
  const date = new Date(time * 1_000).toUTCString().replace('GMT', '+0000')
  return `${NAME} (${version}) unstable; urgency=medium\n\n  * See /${LIBRARY}/CHANGELOG.md.\n\n -- ${maintainer}  ${date}\n`
}

/** @param {string} tree */
function sumsOf(tree) {
  const files = filesUnder(tree).filter((file) => !file.startsWith('DEBIAN/'))
  return execFileSync('md5sum', files, { cwd: tree, encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/** @param {string} tree @param {number} time */
function setModesAndTimes(tree, time) {
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree])
  const executable = /^(usr\/bin\/.*|usr\/lib\/[^/]+\/node|DEBIAN\/(postinst|prerm|postrm))$/
  for (const file of filesUnder(tree)) {
    chmodSync(join(tree, file), executable.test(file) ? 0o755 : 0o644)
    utimesSync(join(tree, file), time, time)
  }
}
