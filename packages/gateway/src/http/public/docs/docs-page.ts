import type { DocsFiles } from './docs-files.ts'
import { type Rendered, relativeTo } from './docs-markdown.ts'

/** The navigation, in reading order. Pages that are not installed are left out. */
export const NAVIGATION: [string, [string, string][]][] = [
  [
    'Start',
    [
      ['', 'Overview'],
      ['quick-start', 'Quick start'],
      ['signing', 'Signing'],
      ['idempotency', 'Idempotency and retries'],
    ],
  ],
  [
    'Sell',
    [
      ['catalogue', 'Packages'],
      ['money', 'Money'],
      ['webhooks', 'Events'],
      ['after-the-sale', 'After the sale'],
      ['portal', 'The dealer’s portal'],
      ['brands', 'Brands'],
      ['coming-from-another-api', 'Coming from another API'],
      ['requests-without-a-signature', 'Requests without a signature'],
      ['going-live', 'Going live'],
    ],
  ],
  [
    'Look up',
    [
      ['reference', 'API reference'],
      ['codes', 'Codes'],
      ['limits', 'Limits'],
      ['versions', 'Versions'],
      ['changelog', 'Changelog'],
    ],
  ],
  [
    'Tools',
    [
      ['sdks', 'SDKs'],
      ['sdk', 'TypeScript and command line'],
      ['sdk-python', 'Python'],
      ['sdk-php', 'PHP'],
      ['samples/', 'Samples'],
    ],
  ],
  [
    'Run it',
    [
      ['installing', 'Installing'],
      ['running', 'Running a gateway'],
      ['availability', 'Proxies, restarts and failover'],
      ['scaling', 'Growing past one database'],
      ['clocks', 'Clocks'],
      ['alerts', 'Alerts'],
      ['configuration', 'Configuration'],
      ['sign-in', 'Signing in'],
      ['prices', 'Prices'],
      ['suppliers', 'Suppliers'],
      ['csv-files', 'CSV files'],
      ['wholesale-accounts', 'Accounts at wholesalers'],
      ['wholesale-catalogues', 'Selling from catalogues'],
      ['reconciling', 'Reconciling with suppliers'],
      ['es2plus', 'ES2+'],
      ['airalo', 'Airalo'],
      ['esim-access', 'eSIM Access'],
      ['esim-go', 'eSIM Go'],
      ['mobimatter', 'MobiMatter'],
      ['zendit', 'Zendit'],
      ['console', 'Console'],
      ['lists', 'Lists'],
      ['figures', 'Sales figures'],
      ['performance', 'Performance'],
    ],
  ],
]

/** The complete page around a rendered document: no scripts, no fonts, one style sheet. */
export function docsPage(address: string, { title, html }: Rendered, files: DocsFiles): string {
  const link = (to: string) => escapeHtml(relativeTo(address, to))
  const sections = NAVIGATION.map(([heading, entries]) => {
    const items = entries
      .filter(([to]) => to === 'reference' || files.pages.has(to))
      .map(([to, name]) => {
        const here = to === address ? ' aria-current="page"' : ''
        return `<li><a href="${link(to)}"${here}>${escapeHtml(name)}</a></li>`
      })
    return items.length === 0 ? '' : `<h2>${heading}</h2>\n<ul>${items.join('')}</ul>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Dealer eSIM</title>
<link rel="icon" href="${link('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${link('docs.css')}">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><a href="${link('')}">Dealer eSIM</a><a class="narrow" href="#contents">Contents</a></header>
<div class="columns">
<nav id="contents" aria-label="Documentation">
${sections.join('\n')}
</nav>
<main id="content">
${html}
</main>
</div>
</body>
</html>
`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]!)
}
