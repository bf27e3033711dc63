import { Group, Paper, Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export function Card({ title, actions, children }: { title?: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section">
      <Stack gap="sm">
        {(title || actions) && (
          <Group justify="space-between" align="center">
            {title && <Title order={2}>{title}</Title>}
            {actions && <Group gap="xs">{actions}</Group>}
          </Group>
        )}
        {children}
      </Stack>
    </Paper>
  )
}
