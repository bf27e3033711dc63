import { Anchor, Box, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { Link, useLocation, useMatches } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { DocsLink } from '#docs/docs-link.tsx'
import { t } from '#strings/strings.ts'
import { EmptyState, NoAccessText, StaleAlert } from './load-states.tsx'
import { TextLink } from './values.tsx'

interface PageProps {
  title: string
  description?: ReactNode
  actions?: ReactNode
  /** A link to the parent, such as the list. */
  back?: { to: string; label: string } | undefined
  children: ReactNode
}

/** A page: heading, actions and content. Also sets the title of the browser tab. */
export function Page({ title, description, actions, back, children }: PageProps) {
  const docs = useMatches({ select: (matches) => matches.at(-1)?.staticData.docs })
  useEffect(() => {
    document.title = `${title} · ${t.common.product}`
  }, [title])
  return (
    <Stack gap="lg" maw={1360} mx="auto">
      <Group justify="space-between" align="flex-end" gap="sm" mih={40}>
        <Box miw={0}>
          {back && <TextLink to={back.to}>← {back.label}</TextLink>}
          <Title order={1} className="break">
            {title}
          </Title>
          {description && (
            <Text c="dimmed" size="sm" component="div">
              {description}
            </Text>
          )}
        </Box>
        <Group gap="xs">
          {actions}
          {docs && <DocsLink to={docs} subject={title} />}
        </Group>
      </Group>
      <StaleAlert />
      {children}
    </Stack>
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

/** Tabs for the sections of a page. Each has its own URL. */
export function Tabs(props: { label: string; items: { to: string; label: string }[]; keepFilters?: boolean }) {
  const { label, items, keepFilters } = props
  const { pathname } = useLocation()
  const tabs = useRef<HTMLDivElement>(null)
  // On a phone the current tab may be scrolled out of view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another section has another tab
  useEffect(() => {
    const current = tabs.current?.querySelector('[aria-current=page]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
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
        >
          {tab.label}
        </Link>
      ))}
    </Group>
  )
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
