import { Group, Text, TextInput } from '@mantine/core'
import { t } from '../strings/index.ts'
import { type Filters, useFilters } from '../use-filters.ts'

const SIDE_WIDTH = 52

function Side({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" aria-hidden="true">
      {text}
    </Text>
  )
}

/** From and until, whole days in the browser's time. */
export function Period() {
  const [filters, setFilters] = useFilters()
  return (
    <Group gap="xs">
      <TextInput
        type="date"
        aria-label={t.common.from}
        leftSection={<Side text={t.common.from} />}
        leftSectionWidth={SIDE_WIDTH}
        value={filters.from ?? ''}
        onChange={(event) => setFilters({ from: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        aria-label={t.common.to}
        leftSection={<Side text={t.common.to} />}
        leftSectionWidth={SIDE_WIDTH}
        value={filters.to ?? ''}
        onChange={(event) => setFilters({ to: event.currentTarget.value })}
      />
    </Group>
  )
}

/** The days of the filters as moments: from the first one's start to the last one's end. */
export function rangeOf(filters: Filters): { from?: string; to?: string } {
  const day = /^\d{4}-\d\d-\d\d$/
  const range: { from?: string; to?: string } = {}
  if (filters.from && day.test(filters.from)) range.from = new Date(`${filters.from}T00:00`).toISOString()
  if (filters.to && day.test(filters.to)) {
    const end = new Date(`${filters.to}T00:00`)
    end.setDate(end.getDate() + 1)
    range.to = end.toISOString()
  }
  return range
}
