import { AppShell, Badge, Box, Burger, CloseButton, Group, Kbd, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useIsFetching } from '@tanstack/react-query'
import { Outlet, useMatches, useRouterState } from '@tanstack/react-router'
import { lazy, type MouseEvent, type ReactNode, Suspense, useEffect, useState } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { consoleName, shownBrand } from '#brands/shown-brand.ts'
import { TestModeSwitch } from '#home/test-mode-switch.tsx'
import { Loading } from '#parts/load-states.tsx'
import { NoAccess, Tabs } from '#parts/page.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { Logo } from '#people/sign-in/sign-in-layout.tsx'
import { GROUPS, PLANS } from '#prices/price-paths.ts'
import { t } from '#strings/strings.ts'
import { STOCK, STOCK_BATCHES, STOCK_CODES } from '#suppliers/supplier-paths.ts'
import { AlertBell } from './alert-bell.tsx'
import { isDialogOpen, useKeys } from './keys.ts'
import { itemOf, navigationItems } from './navigation.ts'
import { NavigationBar, TabBar } from './navigation-bar.tsx'
import UserMenu from './user-menu.tsx'

const DealerViewBar = lazy(() => import('./dealer-view.tsx'))
const TestModeBar = lazy(() => import('#home/test-mode-bar.tsx'))
const TwinOffer = lazy(() => import('#home/twin-offer.tsx'))
const Finder = lazy(() => import('./finder.tsx'))
const KeyHelp = lazy(() => import('./key-help.tsx'))

/** The frame of every page: navigation, search and the account menu. */
export function Layout() {
  const [open, menu] = useDisclosure(false)
  const me = useSession()
  const [finderOpen, finder] = useDisclosure(false)
  const [helpOpen, help] = useDisclosure(false)
  const path = useRouterState({ select: (state) => state.location.pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes what lay over the one before
  useEffect(() => {
    menu.close()
    finder.close()
    help.close()
  }, [path])
  useHotkeys([['mod+K', () => isDialogOpen() || finder.open()]])
  useKeys(me, { find: finder.open, showHelp: help.open })
  return (
    <AppShell
      layout="alt"
      header={{ height: 52 }}
      navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !open } }}
      footer={{ height: { base: 64, sm: 0 } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to a place on the page, and is listed among the links */}
      <a href="#main" className="skip" onClick={skipToContent}>
        {t.common.skipToContent}
      </a>
      <AppShell.Header withBorder={false}>
        <Header open={open} toggle={menu.toggle} find={finder.open} path={path} />
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t.navigation.label}>
        <Brand toggle={menu.toggle} />
        <NavigationBar path={path} />
      </AppShell.Navbar>
      <Main path={path} />
      <AppShell.Footer hiddenFrom="sm">
        <TabBar path={path} openMenu={menu.open} />
      </AppShell.Footer>
      <Suspense>
        {finderOpen && <Finder onClose={finder.close} />}
        {helpOpen && <KeyHelp onClose={help.close} />}
      </Suspense>
    </AppShell>
  )
}

/** The link's URL would be relative to <base>, which is the dashboard. */
function skipToContent(event: MouseEvent): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

/** Signals to assistive technology, and to tests, when everything has loaded. */
function Main({ path }: { path: string }) {
  const me = useSession()
  const mayOpen = useMatches({
    select: (matches) => matches.every(({ staticData }) => staticData.mayOpen?.(me) ?? true),
  })
  const changing = useRouterState({ select: (state) => state.status === 'pending' })
  const fetching = useIsFetching()
  return (
    <AppShell.Main id="main" tabIndex={-1} aria-busy={changing || fetching > 0}>
      {me.viewOnly && (
        <Suspense>
          <DealerViewBar />
        </Suspense>
      )}
      {isTestMode && (
        <Suspense>
          <TestModeBar path={path} />
        </Suspense>
      )}
      <TwinGate>
        {mayOpen && <SectionTabs path={path} />}
        {mayOpen ? <Outlet /> : <NoAccess />}
      </TwinGate>
    </AppShell.Main>
  )
}

/** In test mode, offers the test twin to a dealer that has none. It stays until its AppSecret has been copied. */
function TwinGate({ children }: { children: ReactNode }) {
  const { hasTwin, tenant } = useSession()
  const [isOffered, setOffered] = useState(!hasTwin)
  if (!hasTwin && !isOffered) setOffered(true)
  if (!isTestMode || !isOffered) return children
  return (
    <Suspense fallback={<Loading />}>
      <TwinOffer tenantId={tenant?.tenantId} onDone={() => setOffered(false)} />
    </Suspense>
  )
}

/** Shows whose console it is. On a phone, the navigation covers the page and is closed here. */
function Brand({ toggle }: { toggle(): void }) {
  const me = useSession()
  return (
    <Group gap="xs" wrap="nowrap" h={36} mb="md" px={4}>
      <Logo size={24} />
      <Box miw={0} flex={1}>
        <Text fw={600} truncate>
          {me.tenant?.clientName ?? consoleName}
        </Text>
        {me.tenant && shownBrand && (
          <Text size="xs" c="dimmed" truncate>
            {consoleName}
          </Text>
        )}
      </Box>
      <CloseButton onClick={toggle} hiddenFrom="sm" aria-label={t.common.close} />
    </Group>
  )
}

function Header(props: { open: boolean; toggle(): void; find(): void; path: string }) {
  const { open, toggle, find, path } = props
  const me = useSession()
  const hint = isOperator(me) ? t.finder.hintShort : t.finder.hintShortForDealer
  return (
    <Group h="100%" px={{ base: 'xs', sm: 'lg' }} justify="space-between" wrap="nowrap" gap="xs">
      <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t.navigation.toggle} />
      <UnstyledButton className="finder" onClick={find} aria-label={`${t.finder.label}: ${hint}`}>
        <IconSearch size={18} />
        <span>{hint}</span>
        <Kbd visibleFrom="sm" aria-hidden="true">
          /
        </Kbd>
      </UnstyledButton>
      <Group gap="xs" wrap="nowrap">
        {me.deployment !== 'production' && (
          <Badge variant="light" color="orange" tt="none">
            {t.deployment[me.deployment]}
          </Badge>
        )}
        {(!isOperator(me) || isTestMode) && <TestModeSwitch path={path} />}
        <AlertBell />
        <Suspense fallback={<Box w={34} />}>
          <UserMenu />
        </Suspense>
      </Group>
    </Group>
  )
}

/** The tabs of an entry that has several pages, on those pages. Records below them have a link back instead. */
function SectionTabs({ path }: { path: string }) {
  const { tabs, keepFilters = false } = itemOf(path, navigationItems(useSession())) ?? {}
  const current = tabs?.find(({ to }) => path === to || SUBPAGES[to]?.includes(path))
  if (!tabs || !current || tabs.length === 1) return null
  return (
    <div className="section">
      <Tabs label={t.navigation.section} items={tabs} current={current.to} keepFilters={keepFilters} />
    </div>
  )
}

/** Pages that are tabs of a tab. */
const SUBPAGES: Readonly<Record<string, readonly string[]>> = {
  [PLANS]: [GROUPS],
  [STOCK]: [STOCK_BATCHES, STOCK_CODES],
}
