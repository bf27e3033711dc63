import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  RouterProvider,
} from '@tanstack/react-router'
import { consoleBase, isTestMode, testBase } from './api/call-api.ts'
import { Layout } from './layout/layout.tsx'
import {
  dealerPage,
  dealerSections,
  localSignInPage,
  PAGE_DOCS,
  type PageRoute,
  pages,
  signedInPage,
  welcomePage,
} from './page-list.ts'
import { LoadError, Loading } from './parts/load-states.tsx'
import { NotFound } from './parts/page.tsx'
import { SessionGate } from './people/sign-in/session-gate.tsx'

const root = createRootRoute({ component: Outlet })

const consoleRoute = createRoute({
  getParentRoute: () => root,
  id: 'console',
  component: () => (
    <SessionGate>
      <Layout />
    </SessionGate>
  ),
})

/** Each page is a separate chunk, so the first page loads without the others. */
function pageRoute({ path, load, name, mayOpen }: PageRoute, parent: AnyRoute, parentPath = '') {
  return createRoute({
    getParentRoute: () => parent,
    path,
    staticData: { docs: PAGE_DOCS[parentPath + path], mayOpen },
    // Filters are strings in the URL. Each page reads the filters that it knows.
    validateSearch: (search: Record<string, unknown>) => stringParams(search),
    beforeLoad({ params }) {
      if (!areIdsWellFormed(params)) throw notFound()
    },
    // Remount for a different eSIM or dealer, so that no dialog, code or previous data is carried over to it.
    remountDeps: ({ params }) => params,
    component: lazyRouteComponent(load as () => Promise<Record<string, never>>, name as never),
  })
}

/** A malformed id is treated as not found, without asking the gateway. */
function areIdsWellFormed(params: Record<string, string>): boolean {
  return Object.entries(params).every(([name, text]) => ID_PATTERNS[name]?.test(text) ?? true)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const ID_PATTERNS: Record<string, RegExp> = {
  tenantId: UUID,
  profileId: UUID,
  notifyId: UUID,
  orderNo: /^[0-9a-z]{26}$/i,
}

function stringParams(search: Record<string, unknown>): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(search)) {
    if (value !== '' && ['string', 'number', 'boolean'].includes(typeof value)) texts[name] = String(value)
  }
  return texts
}

const dealer = pageRoute(dealerPage, consoleRoute)
const routes = [
  ...pages.map((page) => pageRoute(page, consoleRoute)),
  dealer.addChildren(dealerSections.map((section) => pageRoute(section, dealer, dealerPage.path))),
]

const router = createRouter({
  routeTree: root.addChildren([
    pageRoute(welcomePage, root),
    pageRoute(localSignInPage, root),
    pageRoute(signedInPage, root),
    consoleRoute.addChildren(routes),
  ]),
  basepath: (isTestMode ? testBase : consoleBase).pathname.replace(/\/$/, ''),
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: ({ error, reset }) => <LoadError error={error as Error} retry={reset} />,
  scrollRestoration: true,
  // Values stay strings: a transactionId made of digits is not a number, and nothing is quoted in the URL.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search as Record<string, string>).toString()
    return text && `?${text}`
  },
})

/** The console for a signed-in person, and the pages that work without a session. */
export function Application() {
  return <RouterProvider router={router} />
}
