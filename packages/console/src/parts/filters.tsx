import { Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { t } from '../strings/strings.ts'

export type Filters = Record<string, string>

/** Keeps filters in the URL, so that a filtered list can be shared and Back returns to the previous page of it. */
export function useFilters(): [Filters, (change: Record<string, string | null | undefined>) => void] {
  const search = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  function set(change: Record<string, string | null | undefined>) {
    const next: Filters = { ...search }
    // A changed filter starts at the first page.
    if (!('cursor' in change)) delete next.cursor
    for (const [name, value] of Object.entries(change)) {
      if (value === null || value === undefined || value === '') delete next[name]
      else next[name] = value
    }
    void navigate({ to: '.', search: next as never, replace: !('cursor' in change) })
  }
  return [search, set]
}

const TYPING_MS = 250

/** A text filter, applied when typing pauses. */
export function SearchField(props: { value: string; onChange(value: string): void; label: string; w?: number }) {
  const [text, setText] = useState(props.value)
  const reported = useRef(props.value)
  const report = useDebouncedCallback((value: string) => {
    reported.current = value
    props.onChange(value)
  }, TYPING_MS)
  // Take over only changes from elsewhere, such as Back: our own reported value lacks a trailing space being typed.
  useEffect(() => {
    if (props.value === reported.current) return
    reported.current = props.value
    setText(props.value)
  }, [props.value])
  return (
    <TextInput
      type="search"
      aria-label={props.label}
      placeholder={props.label}
      leftSection={<IconSearch size={16} />}
      w={{ base: '100%', sm: props.w ?? 340 }}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        report(event.currentTarget.value.trim())
      }}
    />
  )
}

/** A drop-down filter, kept in the URL under its name. */
export function FilterSelect(props: {
  name: string
  label: string
  values: readonly string[]
  labels: Record<string, string>
}) {
  const [filters, setFilters] = useFilters()
  return (
    <NativeSelect
      aria-label={props.label}
      value={filters[props.name] ?? ''}
      onChange={(event) => setFilters({ [props.name]: event.currentTarget.value })}
      data={[
        { value: '', label: `${props.label}: ${t.common.any}` },
        ...props.values.map((value) => ({ value, label: props.labels[value] ?? value })),
      ]}
    />
  )
}

const SIDE_WIDTH = 52

function DateLabel({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" aria-hidden="true">
      {text}
    </Text>
  )
}

/** First and last day, in the browser's time zone. */
export function PeriodFilter() {
  const [filters, setFilters] = useFilters()
  return (
    <Group gap="xs">
      <TextInput
        type="date"
        aria-label={t.common.from}
        leftSection={<DateLabel text={t.common.from} />}
        leftSectionWidth={SIDE_WIDTH}
        value={filters.from ?? ''}
        onChange={(event) => setFilters({ from: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        aria-label={t.common.to}
        leftSection={<DateLabel text={t.common.to} />}
        leftSectionWidth={SIDE_WIDTH}
        value={filters.to ?? ''}
        onChange={(event) => setFilters({ to: event.currentTarget.value })}
      />
    </Group>
  )
}

/**
 * The selected days as timestamps, from the start of the first to the end of the last. A link may name the times instead,
 * such as those of a UTC day; `to` is then the end of the period.
 */
export function periodRange(filters: Filters): { from?: string; to?: string } {
  const day = /^\d{4}-\d\d-\d\d$/
  const range: { from?: string; to?: string } = {}
  if (filters.from && day.test(filters.from)) range.from = new Date(`${filters.from}T00:00`).toISOString()
  if (filters.to && day.test(filters.to)) {
    const end = new Date(`${filters.to}T00:00`)
    end.setDate(end.getDate() + 1)
    range.to = end.toISOString()
  }
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
  if (filters.from && time.test(filters.from)) range.from = filters.from
  if (filters.to && time.test(filters.to)) range.to = filters.to
  return range
}
