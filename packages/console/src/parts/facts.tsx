import { Grid, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Names and values, side by side; below each other on a phone. */
export function Facts({ of }: { of: [name: string, value: ReactNode][] }) {
  return (
    <Grid component="dl" m={0} gap="xs">
      {of.map(([name, value]) => (
        <Grid.Col key={name} span={{ base: 12, sm: 6, md: 4 }}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} size="sm" className="break">
            {value === null || value === undefined || value === '' ? '–' : value}
          </Text>
        </Grid.Col>
      ))}
    </Grid>
  )
}
