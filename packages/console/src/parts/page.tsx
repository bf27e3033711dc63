import { Anchor, Box, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { t } from '../strings/index.ts'
import { Stale } from './stale.tsx'

interface PageProps {
  title: string
  description?: ReactNode
  actions?: ReactNode
  /** Where the page belongs, such as the list that it is an entry of. */
  back?: { to: string; label: string } | undefined
  children: ReactNode
}

/** A page: its heading, what can be done on it, and its contents. Also names the browser's tab. */
export function Page({ title, description, actions, back, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · ${t.common.product}`
  }, [title])
  return (
    <Stack gap="lg" maw={1360} mx="auto">
      <Group justify="space-between" align="flex-end" gap="sm" mih={40}>
        <Box miw={0}>
          {back && (
            <Anchor component={Link} to={back.to} size="sm">
              ← {back.label}
            </Anchor>
          )}
          <Title order={1} className="break">
            {title}
          </Title>
          {description && (
            <Text c="dimmed" size="sm" component="div">
              {description}
            </Text>
          )}
        </Box>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      <Stale />
      {children}
    </Stack>
  )
}
