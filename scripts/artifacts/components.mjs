// The npm packages inside bundles, read from the bundles' source maps: what is really there, not what was installed.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ name: string, version: string, license?: string, integrity?: string, path: string }} Component */

/**
 * @param {string} root @param {string[]} folders with source maps
 * @param {string[]} copied packages whose own bundle is copied, without a map
 * @returns {Component[]} sorted by name and version
 */
export function componentsOf(root, folders, copied = []) {
  const paths = new Set(copied)
  for (const folder of folders) {
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.map')) continue
      for (const source of JSON.parse(readFileSync(join(folder, file), 'utf8')).sources) {
        const [path] = /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(source) ?? []
        if (path !== undefined) paths.add(path)
      }
    }
  }
  return lockedComponents(root, paths)
}

/** @param {string} root @param {Iterable<string>} paths such as `node_modules/fastify` @returns {Component[]} */
export function lockedComponents(root, paths) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const found = [...paths].flatMap((path) => {
    const locked = packages[path]
    if (locked === undefined || locked.link) return [] // a virtual module of the bundler, or a package of ours
    const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const { version, license, integrity } = locked
    return [{ name, version, path, ...(license && { license }), ...(integrity && { integrity }) }]
  })
  const key = (/** @type {Component} */ { name, version }) => `${name}@${version}`
  return found.sort((one, other) => (key(one) < key(other) ? -1 : 1))
}

/** The licences of bundled packages require their text. @param {string} root @param {Component[]} components */
export function licenceTexts(root, components) {
  const texts = components.map((component) => {
    const folder = join(root, component.path)
    const names = existsSync(folder) ? readdirSync(folder) : []
    const licences = names.filter((name) => /^(licence|license|notice)(\.|-|$)/i.test(name))
    // Without a file of its own, such as libvips and the libraries that it uses, a package names its licences in its readme.
    const files = licences.length > 0 ? licences : names.filter((name) => /^readme(\.|$)/i.test(name))
    const text = files.sort().map((name) => readFileSync(join(folder, name), 'utf8').trim())
    return [`${component.name} ${component.version} (${component.license ?? 'licence unknown'})`, ...text].join('\n\n')
  })
  return `The bundles contain these packages.\n\n${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
