import { Box, Center, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { t } from '../strings/index.ts'
import { Mark } from './mark.tsx'

/** The page before the console: sign-in, invitation, forced change of password. */
export function Doorway({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${t.common.product}`
  }, [title])
  return (
    <Center mih="100dvh" p="md" component="main">
      <Stack w="100%" maw={400} gap="lg">
        <Group gap="xs" justify="center">
          <Mark />
          <Text fw={650}>{t.common.product}</Text>
        </Group>
        <Paper withBorder p="xl" shadow="sm">
          <Box mb="md">
            <Title order={1}>{title}</Title>
            {text && (
              <Text c="dimmed" size="sm" mt={4}>
                {text}
              </Text>
            )}
          </Box>
          {children}
        </Paper>
      </Stack>
    </Center>
  )
}
