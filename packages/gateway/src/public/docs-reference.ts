import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../lib/process/package-root.ts'
import { checkout } from './docs-shelf.ts'

/**
 * The API reference: Scalar's standalone bundle over our OpenAPI document. Everything comes from this server. The
 * bundle adds style elements, so styles may be inline here and on no other page.
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

export const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference · Dealer eSIM</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<style>body { margin: 0 } .back { font: 14px/1 system-ui, sans-serif; padding: .8rem 1rem; border-bottom: 1px solid #8884 } .back a { color: inherit } .scalar-reference-intro-auth, .scalar-reference-intro-clients { display: none !important }</style>
</head>
<body>
<div class="back"><a href="./">← Documentation</a></div>
<div id="reference"><noscript>The reference needs JavaScript. The same is in <a href="openapi.json">openapi.json</a>.</noscript></div>
<script src="reference-bundle.js"></script>
<script src="reference-start.js"></script>
</body>
</html>
`

/**
 * Requests cannot be tried from the page: they need a signature, and a secret has no business in a browser. So nothing
 * asks for credentials (a style of the page hides what no setting does), and a request is shown once, as curl sends it.
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
    securitySchemes: { accessCode: { value: 'your AppKey' }, signature: { value: 'signature of this very request' } },
  },
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  defaultOpenAllTags: true,
  documentDownloadType: 'json',
})
`

/** From the gateway's build, or, where it runs from its sources, from the package. */
export function referenceBundle(): Buffer | undefined {
  const inPackage = 'node_modules/@scalar/api-reference/dist/browser/standalone.js'
  const file = [join(packageRoot(), 'dist/reference-bundle.js'), join(checkout(), inPackage)].find(existsSync)
  return file === undefined ? undefined : readFileSync(file)
}

/** The committed document, with this gateway's own address where it is known. */
export function openApiDocument(publicUrl: string): string {
  const text = readFileSync(join(checkout(), 'docs/openapi.json'), 'utf8')
  if (publicUrl === '') return text
  return JSON.stringify({ ...JSON.parse(text), servers: [{ url: publicUrl }] })
}
