import { API_PATH, operationNames, operations, RT_ALIASES, RT_API_PATH, rtOperations } from '@dealer-esim/contract'
import type { Deps } from '@dealer-esim/gateway/deps.ts'
import { addConsolePages } from '@dealer-esim/gateway/http/console/console-pages.ts'
import { routes } from '@dealer-esim/gateway/http/console/console-routes.ts'
import { type Access, CONSOLE_API, type Route } from '@dealer-esim/gateway/http/console/kernel/route.ts'
import { addProbes } from '@dealer-esim/gateway/http/probes/probes-server.ts'
import { addBrandPictures } from '@dealer-esim/gateway/http/public/brand-pictures.ts'
import { addDocsRoutes, type DocsDeps } from '@dealer-esim/gateway/http/public/docs/docs-routes.ts'
import { addTravellerRoutes } from '@dealer-esim/gateway/http/public/traveller/traveller-routes.ts'
import { supplierApi } from '@dealer-esim/gateway/http/supplier-api.ts'
import { packageRoot } from '@dealer-esim/gateway/platform/package-root.ts'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify'

interface Row {
  method: string
  path: string
  access: string
  rate?: string | undefined
  summary?: string
}

/** packages/gateway/routes.md: every route of every API, from the declarations that the servers register. */
export async function routesMarkdown(): Promise<string> {
  return `${[
    INTRODUCTION,
    section('Dealer API', DEALER_API, dealerRows()),
    section('Compatible RT API', RT_API, rtRows()),
    section('Suppliers', SUPPLIERS, await registered((app) => supplierApi(app, STUB))),
    section('Travellers and documentation', PUBLIC, [
      ...(await registered((app) => addTravellerRoutes(app, STUB))),
      ...(await registered((app) => addBrandPictures(app, STUB))),
      ...(await registered((app) => addDocsRoutes(app, DOCS))),
    ]),
    section('Console: pages', PAGES, await registered((app) => addConsolePages(app, PAGE_OPTIONS))),
    section('Console: API', CONSOLE, consoleRows()),
    section('Probes', PROBES, await registered((app) => addProbes(app, STUB, { state: 'starting' }))),
  ].join('\n\n')}\n`
}

function dealerRows(): Row[] {
  return operationNames.map((name) => ({ ...post(API_PATH + name), summary: operations[name].summary }))
}

function rtRows(): Row[] {
  const rows = Object.entries(rtOperations).map(([name, { summary }]) => ({ ...post(RT_API_PATH + name), summary }))
  const aliases = [...RT_ALIASES].map(([path, name]) => ({
    ...post(path),
    summary: `The same as ${RT_API_PATH}${name}`,
  }))
  return [...rows, ...aliases]
}

function post(path: string): Row {
  return { method: 'POST', path, access: 'a dealer', rate: 'the dealer’s QPS limit' }
}

function consoleRows(): Row[] {
  return routes.map((route) => ({
    method: route.method,
    path: CONSOLE_API + route.path,
    access: accessOf(route),
    rate: route.ratePerMinute === undefined ? undefined : `${route.ratePerMinute}/min per address`,
    summary: route.summary,
  }))
}

/** `every role` for all of them: most routes are open to all, and restricted by tenant. */
function accessOf({ access, sessionOnly, duringSetUp, duringView }: Route): string {
  const notes = [
    sessionOnly && 'session only',
    duringSetUp && 'also during set-up',
    duringView && 'also in *View as dealer*',
  ].filter(Boolean)
  return [nameOf(access), ...notes].join(', ')
}

const ROLES_TOTAL = Math.max(...routes.map(({ access }) => (Array.isArray(access) ? access.length : 0)))

function nameOf(access: Access): string {
  if (access === 'anyone') return 'anybody'
  if (access === 'session') return 'every role, session only'
  return access.length === ROLES_TOTAL ? 'every role' : access.join(' ')
}

/** What registering takes of the dependencies. No route is called. */
const STUB = {
  config: { trustedProxies: [], deployment: 'local' },
  links: { publicUrl: 'http://127.0.0.1' },
} as unknown as Deps
const DOCS: DocsDeps = {
  links: STUB.links,
  audience: 'all',
  brand: async () => undefined,
  isOperators: async () => false,
  clock: systemClock,
  callerOf: () => '',
}
const PAGE_OPTIONS = { directory: packageRoot(), prefix: '', ids: STUB.ids, httpsOnly: false, db: STUB.db }

/** Registers an API at a server of its own and reads its routes. Fastify adds a HEAD to each GET: it is not listed. */
async function registered(register: (app: FastifyInstance) => unknown): Promise<Row[]> {
  const app = fastify({ exposeHeadRoutes: false })
  const declared: RouteOptions[] = []
  app.addHook('onRoute', (route) => void declared.push(route))
  await app.register(async (api) => void (await register(api)))
  await app.ready()
  await app.close()
  return declared.flatMap(({ method, url, config }) =>
    [method].flat().map((each) => ({ method: each, path: url, access: config?.access ?? '' })),
  )
}

function section(title: string, about: string, rows: readonly Row[]): string {
  const hasSummary = rows.some(({ summary }) => summary !== undefined)
  const hasRate = rows.some(({ rate }) => rate !== undefined)
  const line = (cells: (string | undefined)[]) => `| ${cells.map((cell) => cell ?? '').join(' | ')} |`
  const cellsOf = ({ method, path, access, rate, summary }: Row) => [
    method,
    `\`${path}\``,
    access,
    ...(hasRate ? [rate] : []),
    ...(hasSummary ? [summary] : []),
  ]
  const names = ['method', 'path', 'access', ...(hasRate ? ['rate'] : []), ...(hasSummary ? ['what it does'] : [])]
  const table = [line(names), `|${'---|'.repeat(names.length)}`, ...rows.map((row) => line(cellsOf(row)))]
  return [`## ${title}`, '', about, '', ...table].join('\n')
}

const INTRODUCTION = `# Routes

Every route of every API, written by \`npm run routes\` from the declarations in \`src/http\`. A test fails if it is stale.
Access to a route of the console is checked before its body is read (\`src/http/console/kernel/access.ts\`); a dealer’s
people reach only their own tenant.`

const DEALER_API = `Signed with the dealer’s AppSecret, from an address on its allowlist, with a RequestID that is used once
(\`src/http/dealer\`, \`src/tenants/admission\`). Handlers: \`src/http/dealer/dealer-operations.ts\`.`
const RT_API = `Signed like the dealer API, or with the AppKey alone, or with the AppKey and the AppSecret itself, where the operator allows it; \`webhook/save\` must be signed
(\`src/http/rt\`). Handlers: \`src/http/rt/rt-operations.ts\`.`
const SUPPLIERS = 'Notifications of SM-DP+ servers and events of wholesalers (`src/http/supplier-api.ts`).'
const PUBLIC = 'Pages without sign-in (`src/http/public`).'
const PAGES = 'The web application’s files (`src/http/console/console-pages.ts`).'
const CONSOLE = `Called by the console and by personal access tokens (\`src/http/console\`). Each route is there a second time below
\`/console/api/test\`, in test mode: about the test twin of the caller’s dealer, or refused.`
const PROBES = 'On `METRICS_PORT`, on loopback by default (`src/http/probes`).'
