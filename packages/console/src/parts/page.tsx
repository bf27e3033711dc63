import { ActionIcon, Anchor, Box, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react'
import { Link, useLocation, useMatches } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { consoleName } from '#brands/shown-brand.ts'
import { DocsLink } from '#docs/docs-link.tsx'
import { neighboursOf } from '#lists/neighbours.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { EmptyState, NoAccessText, StaleAlert } from './load-states.tsx'

interface PageProps {
  title: string
  description?: ReactNode
  /** Shown before the title of a record: a flag or initials. */
  picture?: ReactNode
  /** Shown beside the title of a record: its state. */
  mark?: ReactNode
  actions?: ReactNode
  /** A link to the parent, such as the list. */
  back?: { to: string; label: string } | undefined
  children: ReactNode
}

/** A page: heading, actions and content. Also sets the title of the browser tab. */
export function Page({ title, description, picture, mark, actions, back, children }: PageProps) {
  const docs = useMatches({ select: (matches) => matches.at(-1)?.staticData.docs })
  useEffect(() => {
    document.title = `${title} · ${consoleName}`
  }, [title])
  return (
    <Stack gap="md" maw="var(--page)" mx="auto">
      {back && <WayBack {...back} />}
      <Group justify="space-between" gap="xs" mih={36}>
        <Box miw={0} className="measure page-title">
          <Group gap="xs">
            <Group gap="xs" wrap="nowrap">
              {picture}
              <Title order={1} className="break">
                {title}
              </Title>
            </Group>
            {mark}
          </Group>
          {description && (
            <Text c="dimmed" size="sm" component="div">
              {description}
            </Text>
          )}
        </Box>
        {actions && (
          <Group gap="xs" className="page-actions">
            {actions}
          </Group>
        )}
        {docs && <DocsLink to={docs} subject={title} />}
      </Group>
      <StaleAlert />
      {children}
    </Stack>
  )
}

/** Links to a record's list and to its neighbours there. */
function WayBack({ to, label }: { to: string; label: string }) {
  const { pathname } = useLocation()
  const near = neighboursOf(pathname)
  return (
    <Group justify="space-between" mb="calc(var(--space-8) * -1)" mih={32}>
      <Anchor component={Link} to={to} size="sm" c="dimmed">
        ← {label}
      </Anchor>
      {near && (
        <Group gap={4} component="nav" aria-label={t.lists.neighbours}>
          <Text size="xs" c="dimmed">
            {formatMessage(t.lists.position, { position: near.position, count: near.count })}
          </Text>
          <Neighbour to={near.previous} label={t.lists.previous} Icon={IconChevronUp} />
          <Neighbour to={near.next} label={t.lists.next} Icon={IconChevronDown} />
        </Group>
      )}
    </Group>
  )
}

function Neighbour(props: { to: string | undefined; label: string; Icon: typeof IconChevronUp }) {
  const { to, label, Icon } = props
  const look = { variant: 'subtle', color: 'gray', 'aria-label': label } as const
  if (to === undefined)
    return (
      <ActionIcon {...look} disabled bg="none">
        <Icon size={18} />
      </ActionIcon>
    )
  return (
    <ActionIcon {...look} component={Link} to={to}>
      <Icon size={18} />
    </ActionIcon>
  )
}

export function Card({ title, actions, children }: { title?: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section">
      <Stack gap="sm">
        {(title || actions) && (
          <Group justify="space-between" align="center">
            {title && (
              <Title order={2} className="break">
                {title}
              </Title>
            )}
            {actions && <Group gap="xs">{actions}</Group>}
          </Group>
        )}
        {children}
      </Stack>
    </Paper>
  )
}

/**
 * Tabs for the sections of a page. Each has its own URL. `current`: the tab that the page belongs to, if it has a different
 * URL.
 */
export function Tabs(props: {
  label: string
  items: { to: string; label: string }[]
  keepFilters?: boolean
  current?: string
}) {
  const { label, items, keepFilters, current } = props
  const { pathname } = useLocation()
  const tabs = useRef<HTMLDivElement>(null)
  // On a phone the current tab may be scrolled out of view, also after the width has changed. The page itself stays where it is.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another section has another tab
  useEffect(() => {
    const nav = tabs.current
    if (!nav) return
    const observer = new ResizeObserver(() => {
      const shown = nav.querySelector(':is([aria-current], [data-current])')
      if (shown) nav.scrollLeft += middleOf(shown) - middleOf(nav)
    })
    observer.observe(nav)
    return () => observer.disconnect()
  }, [pathname])
  return (
    <Group ref={tabs} component="nav" aria-label={label} gap={0} className="tabs" wrap="nowrap">
      {items.map((tab) => (
        <Link
          key={tab.to}
          to={tab.to}
          search={(keepFilters ? true : {}) as never}
          activeOptions={{ exact: true, includeSearch: false }}
          className="tab"
          {...(current === tab.to && { 'data-current': true })}
        >
          {tab.label}
        </Link>
      ))}
    </Group>
  )
}

function middleOf(element: Element): number {
  const { left, width } = element.getBoundingClientRect()
  return left + width / 2
}

/** Shown for a URL without a page. The navigation stays. */
export function NotFound() {
  return <NoPage title={t.errors.notFound} text={t.errors.notFoundText} />
}

/** Shown instead of a page that this person may not open. */
export function NoAccess() {
  return <NoPage title={t.errors.noAccess} text={<NoAccessText />} />
}

function NoPage({ title, text }: { title: string; text: ReactNode }) {
  return (
    <Page title={title}>
      <Paper withBorder>
        <EmptyState
          title={text}
          action={
            <Anchor component={Link} to="/">
              {t.errors.goToDashboard}
            </Anchor>
          }
        />
      </Paper>
    </Page>
  )
}
