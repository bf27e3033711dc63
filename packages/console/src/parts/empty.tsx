import { Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Nothing here: why, and what to do about it. */
export function Empty({ title, text, action }: { title: string; text?: string; action?: ReactNode }) {
  return (
    <Stack align="center" gap={6} py="xl" px="md" ta="center">
      <Text fw={600}>{title}</Text>
      {text && (
        <Text c="dimmed" size="sm" maw={480}>
          {text}
        </Text>
      )}
      {action}
    </Stack>
  )
}
