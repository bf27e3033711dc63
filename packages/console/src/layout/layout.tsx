import {
  ActionIcon,
  AppShell,
  Badge,
  Box,
  Burger,
  Group,
  Kbd,
  NavLink,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { IconMoon, IconSearch, IconSun } from '@tabler/icons-react'
import { useIsFetching } from '@tanstack/react-query'
import { Link, Outlet, useMatches, useRouterState } from '@tanstack/react-router'
import { lazy, type MouseEvent, Suspense, useEffect, useRef } from 'react'
import { useApi } from '#api/use-api.ts'
import { NoAccess } from '#parts/page.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { Logo } from '#people/sign-in/sign-in-layout.tsx'
import { interpolate, t } from '#strings/strings.ts'
import { isDialogOpen, useKeys } from './keys.ts'
import { type NavigationItem, navigationFor, navigationGroups } from './navigation.ts'
import UserMenu from './user-menu.tsx'

const DealerViewBar = lazy(() => import('./dealer-view.tsx'))
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
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !open } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to a place on the page, and is listed among the links */}
      <a href="#main" className="skip" onClick={skipToContent}>
        {t.common.skipToContent}
      </a>
      <AppShell.Header>
        <Header open={open} toggle={menu.toggle} find={finder.open} />
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t.navigation.label}>
        <Navigation path={path} />
      </AppShell.Navbar>
      <Main />
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

/** Shows assistive technology, and tests, when everything has loaded. */
function Main() {
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
      {mayOpen ? <Outlet /> : <NoAccess />}
    </AppShell.Main>
  )
}

function Header({ open, toggle, find }: { open: boolean; toggle(): void; find(): void }) {
  const me = useSession()
  return (
    <Group h="100%" px="md" justify="space-between" wrap="nowrap">
      <Group gap="sm" wrap="nowrap">
        <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t.navigation.toggle} />
        <Logo />
        <Text fw={650} visibleFrom="xs" truncate>
          {me.tenant?.clientName ?? t.common.product}
        </Text>
        {me.deployment !== 'production' && (
          <Badge variant="light" color="orange" radius="sm" tt="none">
            {t.deployment[me.deployment]}
          </Badge>
        )}
      </Group>
      <Group gap="xs" wrap="nowrap">
        <UnstyledButton onClick={find} aria-label={t.finder.label}>
          <Group gap="xs" wrap="nowrap">
            <IconSearch size={18} />
            <Text size="sm" c="dimmed" visibleFrom="md">
              {t.finder.label}
            </Text>
            <Kbd visibleFrom="md">/</Kbd>
          </Group>
        </UnstyledButton>
        <SchemeToggle />
        <Suspense fallback={<Box w={34} />}>
          <UserMenu />
        </Suspense>
      </Group>
    </Group>
  )
}

function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={t.common.colorScheme}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      {dark ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  )
}

function Navigation({ path }: { path: string }) {
  const me = useSession()
  const active = activeItem(path, navigationFor(me))
  const list = useRef<HTMLDivElement>(null)
  // In a short window the current entry may be scrolled out of view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another entry
  useEffect(() => {
    list.current?.querySelector('[data-active]')?.scrollIntoView({ block: 'nearest' })
  }, [active])
  return (
    <div ref={list} className="navigation">
      {navigationGroups(me).map(({ label: group = '', items }) => (
        <Box key={group} role={group ? 'group' : undefined} aria-label={group || undefined} mb={6}>
          {group && (
            <Text size="xs" fw={600} c="dimmed" px="sm" pb={2} aria-hidden="true">
              {group}
            </Text>
          )}
          {items.map(({ to, label, Icon, Badge: Waiting }) => (
            <NavLink
              key={to}
              component={Link}
              to={to}
              // Exact: an order's path is below its dealer, but it does not belong to the dealers' list.
              activeOptions={{ exact: true }}
              label={label}
              leftSection={<Icon size={18} stroke={1.7} />}
              active={active === to}
              rightSection={to === ALERTS_PATH ? <UnreadAlerts /> : Waiting && <Waiting />}
              aria-current={path === to ? 'page' : undefined}
            />
          ))}
        </Box>
      ))}
    </div>
  )
}

const ALERTS_PATH = '/notices'
const UNREAD_REFRESH_MS = 60_000
/** The highest number that the gateway counts to. */
const UNREAD_SHOWN_MAX = 99

function UnreadAlerts() {
  const { data } = useApi<{ count: number }>('/notices/unread', {}, { refreshMs: UNREAD_REFRESH_MS })
  if (!data || data.count === 0) return null
  const text = data.count > UNREAD_SHOWN_MAX ? `${UNREAD_SHOWN_MAX}+` : String(data.count)
  return (
    <Badge size="sm" color="red" variant="filled" aria-label={interpolate(t.alerts.unreadCount, { count: text })}>
      {text}
    </Badge>
  )
}

/** Finds the entry of a path. Orders, eSIMs and events have paths below their dealer, but belong to their own lists. */
function activeItem(path: string, items: NavigationItem[]): string | undefined {
  const entry = /^\/tenants\/[^/]+\/(orders|profiles|events)\//.exec(path)?.[1]
  const at = entry === undefined ? path.replace('/debugger', '/explorer') : `/${entry.replace('events', 'webhooks')}`
  const fitting = items.filter(({ to }) => at === to || (to !== '/' && at.startsWith(`${to}/`)))
  return fitting.sort((a, b) => b.to.length - a.to.length)[0]?.to
}
