import { NavLink } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useSession } from '#people/sign-in/session.ts'
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
