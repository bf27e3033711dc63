import { NavLink, UnstyledButton } from '@mantine/core'
import { IconMenu2 } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { itemOf, type NavigationItem, navigationItems } from './navigation.ts'

/** A person's entries: everyday ones at the top, settings at the bottom. */
export function NavigationBar({ path }: { path: string }) {
  const items = navigationItems(useSession())
  const active = itemOf(path, items)
  const link = (item: NavigationItem) => (
    <NavigationLink key={item.to} item={item} isActive={item === active} path={path} />
  )
  return (
    <div className="navigation">
      <div>{items.filter(({ isLast }) => !isLast).map(link)}</div>
      <div>{items.filter(({ isLast }) => isLast).map(link)}</div>
    </div>
  )
}

function NavigationLink({ item, isActive, path }: { item: NavigationItem; isActive: boolean; path: string }) {
  const { to, label, Icon, Badge: Waiting } = item
  return (
    <NavLink
      component={Link}
      to={to}
      // Exact: an order's path is below its dealer, but is not part of the dealer list.
      activeOptions={{ exact: true }}
      label={label}
      leftSection={<Icon size={18} stroke={1.7} />}
      active={isActive}
      rightSection={Waiting && <Waiting />}
      aria-current={path === to ? 'page' : undefined}
    />
  )
}

/** At the foot of a phone: what people do all day. Everything else is in the navigation. */
export function TabBar({ path, openMenu }: { path: string; openMenu(): void }) {
  const me = useSession()
  const items = navigationItems(me)
  const active = itemOf(path, items)
  const everyday = isOperator(me) ? ['/', '/orders', '/tenants', '/suppliers'] : ['/', '/orders', '/buy', '/profiles']
  const wallet = isOperator(me) ? undefined : items.find(({ label }) => label === t.wallet.title)
  const shown = [...everyday.map((to) => items.find((item) => item.to === to)), wallet].filter(
    (item) => item !== undefined,
  )
  return (
    <nav className="tab-bar" aria-label={t.navigation.everyday}>
      {shown.map(({ to, label, Icon }) => (
        <Link
          key={to}
          to={to}
          data-main={to === '/buy' || undefined}
          data-active={active?.to === to || undefined}
          aria-current={path === to ? 'page' : undefined}
        >
          <Icon size={22} stroke={1.7} aria-hidden="true" />
          {to === '/buy' ? t.navigation.buy : label}
        </Link>
      ))}
      {isOperator(me) && (
        <UnstyledButton onClick={openMenu}>
          <IconMenu2 size={22} stroke={1.7} aria-hidden="true" />
          {t.navigation.more}
        </UnstyledButton>
      )}
    </nav>
  )
}
