// npm run dist -- [npm] [image] [deb] [kubernetes]: builds what is released into dist/, by default all of it, each with an SBOM
// (CycloneDX), and dist/SHA256SUMS. Everything is built from the sources into a temporary folder, so the same commit gives the
// same bytes. --output FOLDER writes elsewhere; --arch x64 or
// arm64 chooses the architecture of deb and image (default: this machine's); --base REFERENCE builds the image on another base.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildDeb } from './artifacts/deb.mjs'
import { buildImage } from './artifacts/image.mjs'
import { packKubernetes } from './artifacts/kubernetes.mjs'
import { packNpm } from './artifacts/npm.mjs'
import { stageGateway } from './artifacts/stage.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** What all artifacts are made from. @typedef {{ root: string, work: string, arch: string, output: string, staged: import('./artifacts/stage.mjs').Staged, commit: string, time: number, base?: string }} Release */

/** @type {Record<string, (release: Release) => void | Promise<void>>} */
const ARTIFACTS = {
  npm: packNpm,
  image: buildImage,
  deb: buildDeb,
  kubernetes: packKubernetes,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: 'string', default: join(root, 'dist') },
    base: { type: 'string' },
    arch: { type: 'string', default: process.arch },
  },
})
const unknown = positionals.filter((name) => !(name in ARTIFACTS))
if (unknown.length > 0) {
  process.stderr.write(`There is no artifact ${unknown.join(', ')}. There are: ${Object.keys(ARTIFACTS).join(', ')}.\n`)
  process.exit(2)
}

const output = resolve(values.output)
const work = mkdtempSync(join(tmpdir(), 'dealer-esim-dist-'))
try {
  mkdirSync(output, { recursive: true })
  const { commit, time } = describeCommit()
  const staged = await stageGateway(join(work, 'gateway'), { root, commit })
  const release = {
    root,
    work,
    output,
    staged,
    commit,
    time,
    arch: values.arch,
    ...(values.base !== undefined && { base: values.base }),
  }
  for (const name of positionals.length > 0 ? positionals : Object.keys(ARTIFACTS)) await ARTIFACTS[name]?.(release)
  writeChecksums()
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** The commit, marked if files differ from it, and its time in seconds. */
function describeCommit() {
  const git = (/** @type {string[]} */ ...command) =>
    execFileSync('git', command, { cwd: root, encoding: 'utf8' }).trim()
  const isModified = git('status', '--porcelain') !== ''
  return {
    commit: git('rev-parse', '--short=8', 'HEAD') + (isModified ? '-modified' : ''),
    time: Number(git('log', '-1', '--format=%ct')),
  }
}

function writeChecksums() {
  const names = readdirSync(output)
    .filter((name) => name !== 'SHA256SUMS')
    .sort()
  const lines = names.map((name) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(output, name)))
      .digest('hex')
    process.stdout.write(`${join(output, name)}\n`)
    return `${digest}  ${name}\n`
  })
  writeFileSync(join(output, 'SHA256SUMS'), lines.join(''))
}
