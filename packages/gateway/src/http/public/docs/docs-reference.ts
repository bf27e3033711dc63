import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { escapeHtml } from '#platform/escape-html.ts'
import { documentsRoot, packageRoot } from '#platform/package-root.ts'
import { UNBRANDED } from './docs-page.ts'
import type { DocsBrand } from './docs-site.ts'

/**
 * The API reference: Scalar's standalone bundle with our OpenAPI document, all served from here. The bundle adds style
 * elements, so this page alone allows inline styles.
 */
export const REFERENCE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** @param versions of the scripts, which browsers may then keep for ever */
export function referencePage(
  brand: DocsBrand | undefined,
  { bundle, start }: Record<'bundle' | 'start', string>,
): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference · ${escapeHtml(brand?.name ?? UNBRANDED)}</title>
<link rel="icon" href="${brand?.icon ? escapeHtml(`../${brand.icon}`) : 'icon.svg'}">
<link rel="preload" href="openapi.json" as="fetch" crossorigin>
<style>body { margin: 0 } .back { font: 14px/1 system-ui, sans-serif; padding: .8rem 1rem; border-bottom: 1px solid #8884 } .back a { color: inherit } .scalar-reference-intro-auth, .scalar-reference-intro-clients { display: none !important }</style>
</head>
<body>
<div class="back"><a href="./">← Documentation</a></div>
<div id="reference"><noscript>The reference needs JavaScript. <a href="openapi.json">openapi.json</a> has the same content.</noscript></div>
<script src="reference-bundle.js?v=${bundle}"></script>
<script src="reference-start.js?v=${start}"></script>
</body>
</html>
`
}

/**
 * The page cannot send requests: they need a signature, and a secret must not be entered in a browser. So it does not ask
 * for credentials (a style hides what no setting can hide), and shows each request only as a curl command. Groups of operations open
 * when they are chosen: drawing all of them took twice as long, and 26 000 nodes instead of 11 000.
 */
export const REFERENCE_START = `Scalar.createApiReference('#reference', {
  url: 'openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideTestRequestButton: true,
  hideClientButton: true,
  hiddenClients: Object.fromEntries(
    'c clojure csharp dart fsharp go http java js kotlin node objc ocaml php powershell python r ruby rust swift'
      .split(' ')
      .map((language) => [language, true])
      .concat([['shell', ['httpie', 'wget']]]),
  ),
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  authentication: {
    securitySchemes: { accessCode: { value: 'your AppKey' }, signature: { value: 'the signature of this request' } },
  },
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  defaultOpenAllTags: false,
  documentDownloadType: 'json',
})
`

/** From the gateway's build or, if it runs from its sources, from the npm package. */
export function referenceBundle(): Buffer | undefined {
  const inPackage = 'node_modules/@scalar/api-reference/dist/browser/standalone.js'
  const file = [join(packageRoot(), 'dist/reference-bundle.js'), join(documentsRoot(), inPackage)].find(existsSync)
  return file === undefined ? undefined : readFileSync(file)
}

/** An OpenAPI document of docs/ with this gateway's address, if it is known. */
export function openApiDocument(file: 'openapi.json' | 'openapi-rt.json', publicUrl: string): string {
  const text = readFileSync(join(documentsRoot(), 'docs', file), 'utf8')
  if (publicUrl === '') return text
  return JSON.stringify({ ...JSON.parse(text), servers: [{ url: publicUrl }] })
}
