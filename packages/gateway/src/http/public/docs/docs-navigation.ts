/** For whom a page is written. An operator may keep its own part from dealers: DOCS=dealers. */
export type Part = 'dealers' | 'operators'

/** The readers of an address: everybody reads everything, or dealers read only their part. */
export type Audience = 'all' | 'dealers'

/**
 * The pages in reading order, by part and group, as addresses below /docs. Names of groups and pages stand in docs/site, one
 * file a language.
 */
export const NAVIGATION: Readonly<Record<Part, readonly { group: string; pages: readonly string[] }[]>> = {
  dealers: [
    { group: 'start', pages: ['', 'quick-start', 'signing', 'idempotency', 'testing', 'going-live'] },
    { group: 'sell', pages: ['catalogue', 'money', 'webhooks', 'after-the-sale', 'books'] },
    { group: 'travellers', pages: ['portal', 'console', 'lists', 'sign-in', 'brands', 'languages'] },
    { group: 'lookUp', pages: ['reference', 'codes', 'limits', 'versions', 'restricted-keys'] },
    { group: 'tools', pages: ['sdks', 'sdk', 'sdk-python', 'sdk-php', 'samples/', 'agents'] },
    { group: 'move', pages: ['coming-from-another-api', 'requests-without-a-signature', 'certify'] },
  ],
  operators: [
    { group: 'begin', pages: ['operators', 'operator-going-live', 'installing', 'running', 'configuration'] },
    {
      group: 'keepRunning',
      pages: ['alerts', 'availability', 'clocks', 'performance', 'scaling', 'upgrading', 'releases/', 'changelog'],
    },
    { group: 'keepSafe', pages: ['recovery', 'preparing-a-restore', 'point-in-time', 'backup-format'] },
    { group: 'offer', pages: ['prices', 'csv-files', 'figures'] },
    {
      group: 'buy',
      pages: ['suppliers', 'wholesale-accounts', 'wholesale-catalogues', 'reconciling', 'es2plus'],
    },
    { group: 'wholesalers', pages: ['airalo', 'esim-access', 'esim-go', 'mobimatter', 'zendit'] },
    { group: 'code', pages: ['glossary', 'torture', 'decisions/'] },
  ],
}

const DEALERS_PAGES = new Set(NAVIGATION.dealers.flatMap(({ pages }) => pages))

/** Pages outside of the dealers' navigation, such as decision records, belong to the operator. */
export function partOf(page: string): Part {
  return DEALERS_PAGES.has(page) ? 'dealers' : 'operators'
}

/** The page before and after one in reading order, within its part. */
export function neighboursOf(page: string): { previous: string | undefined; next: string | undefined } {
  const order = NAVIGATION[partOf(page)].flatMap(({ pages }) => pages)
  const at = order.indexOf(page)
  if (at === -1) return { previous: undefined, next: undefined }
  return { previous: order[at - 1], next: order[at + 1] }
}
