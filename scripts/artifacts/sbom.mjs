// A software bill of materials, CycloneDX 1.5. The same contents give the same bytes.

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'

/** @typedef {import('./components.mjs').Component} Component */

/** @param {string} file @param {{ name: string, version: string, time: number, components: Component[], others?: object[] }} artifact */
export function writeSbom(file, { name, version, time, components, others = [] }) {
  const listed = [...components.map(componentOf), ...others]
  const metadata = {
    timestamp: new Date(time * 1_000).toISOString(),
    component: { type: 'application', name, version, purl: purlOf({ name, version }) },
  }
  const digest = createHash('sha256')
    .update(JSON.stringify([metadata, listed]))
    .digest('hex')
  const serialNumber = `urn:uuid:${digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-5$3-8$4-$5')}`
  const sbom = { bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber, version: 1, metadata, components: listed }
  writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`)
}

/** @param {Component} component */
function componentOf({ name, version, license, integrity }) {
  const [, algorithm, digest = ''] = /^(sha512)-(.*)$/.exec(integrity ?? '') ?? []
  const purl = purlOf({ name, version })
  return {
    ...{ type: 'library', 'bom-ref': purl, name, version, purl },
    ...(license && { licenses: [/^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license }] }),
    ...(algorithm && { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
  }
}

/** @param {{ name: string, version: string }} component */
function purlOf({ name, version }) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}
