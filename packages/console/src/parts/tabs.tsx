import { Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'

/** Sections of one thing, each with an address of its own. */
export function Tabs(props: { label: string; of: { to: string; label: string }[]; keepFilters?: boolean }) {
  const { label, of, keepFilters } = props
  return (
    <Group component="nav" aria-label={label} gap={0} className="tabs" wrap="nowrap">
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
