import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type DocsFiles, findDocsFiles, markdownAddress } from './docs-files.ts'
import { renderPage } from './docs-markdown.ts'
import type { Audience } from './docs-navigation.ts'
import { documentPage, type Frame } from './docs-page.ts'
import { llmsText, markdownPage } from './docs-plain.ts'
import { openApiDocument, REFERENCE_POLICY, REFERENCE_START, referenceBundle, referencePage } from './docs-reference.ts'
import { DOCS_SCRIPT } from './docs-script.ts'
import { createSearch, type Search } from './docs-search.ts'
import { type DocsBrand, readSites, type Sites } from './docs-site.ts'
import { DOCS_ICON, docsStyle } from './docs-style.ts'

/** Pages run their own script only, and load nothing from other hosts. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** A diagram is a picture: its style is inside, and nothing in it runs. */
const DIAGRAM_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

const TEXT = 'text/plain; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'
const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'
const PNG = 'image/png'
const SVG = 'image/svg+xml'

export interface Resource {
  type: string
  body: Buffer
  /** Computed for the first request that accepts it. */
  gzipped?: Promise<Buffer>
  etag: string
  policy: string
  /** In the address of what is cached for ever, as `?v=`. */
  version: string
}

/** All that one audience may read. Each resource is built at its first request and kept: documents belong to the version. */
export interface Library {
  files: DocsFiles
  sites: Sites
  frame(brand: DocsBrand | undefined): Frame
  /** undefined: there is no such address. */
  find(address: string, brand: DocsBrand | undefined): Resource | undefined
  search(language: string): Promise<Search>
}

export function createLibrary(audience: Audience, links: { publicUrl: string }): Library {
  const files = findDocsFiles(audience)
  const sites = readSites()
  const markdown = new Map([...files.pages.values()].map((page) => [markdownAddress(page), page]))
  const searches = new Map<string, Promise<Search>>()
  const resources = new Map<string, Resource>()
  let shown: { key: string; frame: Frame } | undefined

  function frameOf(brand: DocsBrand | undefined): Frame {
    const key = JSON.stringify(brand ?? null)
    if (shown?.key !== key) {
      resources.clear()
      const version = versionOf(Buffer.from(docsStyle(brand) + DOCS_SCRIPT))
      shown = { key, frame: { files, sites, brand, version } }
    }
    return shown.frame
  }

  function build(address: string, frame: Frame): Resource | undefined {
    const page = files.pages.get(address)
    if (page !== undefined) return resource(HTML, documentPage(address, page, renderPage(address, page, files), frame))
    const plain = markdown.get(address)
    if (plain !== undefined) return resource(MARKDOWN, markdownPage(plain, files))
    const file = files.files.get(address)
    if (file !== undefined) return fileResource(address, readFileSync(file.file))
    switch (address) {
      case 'docs.css':
        return resource('text/css; charset=utf-8', docsStyle(frame.brand), PAGE_POLICY, frame.version)
      case 'docs.js':
        return resource(SCRIPT, DOCS_SCRIPT, PAGE_POLICY, frame.version)
      case 'icon.svg':
        return resource(SVG, DOCS_ICON)
      case 'llms.txt':
        return resource(TEXT, llmsText(frame))
      case 'openapi.json':
      case 'openapi-rt.json':
        return resource(JSON_TYPE, openApiDocument(address, links.publicUrl))
      case 'reference':
        return resource(
          HTML,
          referencePage(frame.brand, { bundle: scriptVersion(), start: versionOf(REFERENCE_START) }),
          REFERENCE_POLICY,
        )
      case 'reference-start.js':
        return resource(SCRIPT, REFERENCE_START)
      case 'reference-bundle.js': {
        const bundle = referenceBundle()
        return bundle && resource(SCRIPT, bundle)
      }
      default:
        return undefined
    }
  }
  const scriptVersion = () => find('reference-bundle.js', shown?.frame.brand)?.version ?? ''

  function find(address: string, brand: DocsBrand | undefined): Resource | undefined {
    const frame = frameOf(brand)
    const kept = resources.get(address)
    if (kept !== undefined) return kept
    const built = build(address, frame)
    if (built !== undefined) resources.set(address, built)
    return built
  }

  function search(language: string): Promise<Search> {
    let found = searches.get(language)
    if (found === undefined) {
      found = createSearch(files, sites.get(language)!)
      searches.set(language, found)
    }
    return found
  }

  return { files, sites, frame: frameOf, find, search }
}

function fileResource(address: string, body: Buffer): Resource {
  if (address.endsWith('.png')) return resource(PNG, body)
  return address.endsWith('.svg') ? resource(SVG, body, DIAGRAM_POLICY) : resource(TEXT, body)
}

/** @param version that of its content, unless several resources share one */
export function resource(type: string, content: string | Buffer, policy = PAGE_POLICY, version?: string): Resource {
  const body = Buffer.from(content)
  const hash = versionOf(body)
  return { type, body, etag: `"${hash}"`, policy, version: version ?? hash }
}

function versionOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22)
}
