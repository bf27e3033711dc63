// What artifacts bring beside the bundles: Node and native packages, from npm's registry, by the digests that are pinned here and
// in package-lock.json. No build depends on what happens to be installed.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockedComponents } from './components.mjs'

const NODE_VERSION = '24.21.0'
/** @type {Record<string, string>} */
const NODE_INTEGRITY = {
  x64: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  arm64: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
}

/** Extracts Node's package into `folder`: bin/node and LICENSE. @param {string} arch @param {string} folder */
export function fetchNode(arch, folder) {
  fetchPackage(`node-linux-${arch}`, NODE_VERSION, NODE_INTEGRITY[arch] ?? '', folder)
}

/**
 * Extracts @node-rs/argon2 and sharp, with what they load, for these architectures into a node_modules folder.
 * @param {string} root @param {string[]} architectures @param {string} modules
 * @returns what it extracted, for the SBOM
 */
export function fetchNative(root, architectures, modules) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const names = [
    ...['@node-rs/argon2', 'sharp', '@img/colour', 'detect-libc', 'semver'],
    ...architectures.flatMap((arch) => [
      `@node-rs/argon2-linux-${arch}-gnu`,
      `@img/sharp-linux-${arch}`,
      `@img/sharp-libvips-linux-${arch}`,
    ]),
  ]
  for (const name of names) {
    const { version, integrity } = packages[`node_modules/${name}`]
    fetchPackage(name, version, integrity, join(modules, name))
  }
  return lockedComponents(
    root,
    names.map((name) => `node_modules/${name}`),
  )
}

/** @param {string} name @param {string} version @param {string} integrity @param {string} folder */
function fetchPackage(name, version, integrity, folder) {
  mkdirSync(folder, { recursive: true })
  const pack = [
    'pack',
    '--silent',
    '--prefer-offline',
    '--ignore-scripts',
    '--pack-destination',
    folder,
    `${name}@${version}`,
  ]
  const tarball = join(folder, execFileSync('npm', pack, { cwd: folder, encoding: 'utf8' }).trim())
  const digest = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`
  if (digest !== integrity) throw new Error(`${name}@${version} has the digest ${digest}, not ${integrity}`)
  execFileSync('tar', ['xzf', tarball, '-C', folder, '--strip-components=1', '--no-same-owner'])
  execFileSync('rm', [tarball])
}

/** Node in an SBOM. */
export function nodeComponent() {
  const purl = `pkg:generic/node@${NODE_VERSION}`
  return { type: 'platform', 'bom-ref': purl, name: 'node', version: NODE_VERSION, purl }
}
