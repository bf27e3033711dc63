import { Group } from '@mantine/core'
import { Link, useRouterState } from '@tanstack/react-router'

/** Sections of one thing, each with an address of its own. */
export function Tabs({ label, of }: { label: string; of: { to: string; label: string }[] }) {
  const path = useRouterState({ select: (state) => state.location.pathname })
  return (
    <Group component="nav" aria-label={label} gap={0} className="tabs" wrap="nowrap">
      {of.map((tab) => (
        <Link
          key={tab.to}
          to={tab.to}
          search={{} as never}
          className="tab"
          {...(path === tab.to && { 'aria-current': 'page' as const })}
        >
          {tab.label}
        </Link>
      ))}
    </Group>
  )
}
