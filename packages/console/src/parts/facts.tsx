import { SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Names and values, side by side; below each other on a phone. */
export function Facts({ of, cols = 3 }: { of: [name: string, value: ReactNode][]; cols?: number }) {
  return (
    <SimpleGrid
      component="dl"
      m={0}
      spacing="md"
      verticalSpacing="xs"
      cols={{ base: 1, sm: Math.min(cols, 2), md: cols }}
    >
      {of.map(([name, value]) => (
        <div key={name}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} size="sm" className="break">
            {value === null || value === undefined || value === '' ? '–' : value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  )
}
