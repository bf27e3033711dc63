import { Group } from '@mantine/core'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

/** Sections of one thing, each with an address of its own. */
export function Tabs(props: { label: string; of: { to: string; label: string }[]; keepFilters?: boolean }) {
  const { label, of, keepFilters } = props
  const { pathname } = useLocation()
  const tabs = useRef<HTMLDivElement>(null)
  // On a phone there are more than fit.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another section has another tab
  useEffect(() => {
    const current = tabs.current?.querySelector('[aria-current=page]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [pathname])
  return (
    <Group ref={tabs} component="nav" aria-label={label} gap={0} className="tabs" wrap="nowrap">
      {of.map((tab) => (
        <Link
          key={tab.to}
          to={tab.to}
          search={(keepFilters ? true : {}) as never}
          activeOptions={{ exact: true, includeSearch: false }}
          className="tab"
        >
          {tab.label}
        </Link>
      ))}
    </Group>
  )
}
