import { Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import type { Filter } from '#lists/filter-chips.tsx'
import { PERIODS, periodText } from '#lists/list-period.ts'
import { t } from '#strings/strings.ts'
import { type Filters, useFilters } from './use-filters.ts'

const TYPING_MS = 250

/** A text filter, applied when typing pauses. */
export function SearchField(props: {
  value: string
  onChange(value: string): void
  label: string
  w?: number
  /** Receives the focus when it is shown. */
  isFirst?: boolean
}) {
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
      className="search"
      {...(props.w && { w: props.w })}
      {...(props.isFirst && { 'data-autofocus': true })}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        report(event.currentTarget.value.trim())
      }}
    />
  )
}

interface Choice {
  name: string
  label: string
  values: readonly string[]
  labels: Record<string, string>
  /** Values by group, in display order. */
  groups?: { group: string; values: readonly string[] }[]
}

/** The filters of a list, each kept in the URL under its name. */
export function useFilterKinds() {
  const [filters] = useFilters()
  return {
    /** One of several values. */
    choice(choice: Choice): Filter {
      const { name, label, labels } = choice
      const value = filters[name]
      const text = value === undefined ? undefined : (labels[value] ?? value)
      return { name, label, text, field: <ChoiceField {...choice} /> }
    },
    /** Any text. */
    typed: (name: string, label: string): Filter => ({
      name,
      label,
      text: filters[name],
      field: <TypedField name={name} label={label} />,
    }),
    /** A period by name, or its first and last day, in the browser's time zone. */
    period: (): Filter => ({
      name: 'period',
      names: ['from', 'to'],
      label: t.lists.period,
      text: periodLabel(filters),
      field: <PeriodField />,
    }),
  }
}

interface SearchBoxProps {
  name: string
  label: string
  /** False for a text that may become an e-mail address, such as `mei`. */
  isForUrl?: (text: string) => boolean
}

/** The search of a list, kept in the URL under its name. */
export function SearchBox({ name, label, isForUrl = () => true }: SearchBoxProps) {
  const [filters, setFilters] = useFilters()
  return (
    <SearchField
      label={label}
      value={filters[name] ?? ''}
      onChange={(value) => setFilters({ [name]: value }, { isHidden: !isForUrl(value) })}
    />
  )
}

function TypedField({ name, label }: { name: string; label: string }) {
  const [filters, setFilters] = useFilters()
  return (
    <SearchField
      label={label}
      value={filters[name] ?? ''}
      onChange={(value) => setFilters({ [name]: value })}
      w={220}
      isFirst
    />
  )
}

function ChoiceField(props: Choice) {
  const { name, label, labels } = props
  const [filters, setFilters] = useFilters()
  const itemsOf = (values: readonly string[]) => values.map((value) => ({ value, label: labels[value] ?? value }))
  const groups = props.groups?.map(({ group, values }) => ({ group, items: itemsOf(values) }))
  return (
    <NativeSelect
      aria-label={label}
      data-autofocus
      value={filters[name] ?? ''}
      onChange={(event) => setFilters({ [name]: event.currentTarget.value })}
      data={[{ value: '', label: t.common.any }, ...(groups ?? itemsOf(props.values))]}
    />
  )
}

const CUSTOM = 'custom'
const SIDE_WIDTH = 52

function periodLabel(filters: Filters): string | undefined {
  const { period } = filters
  if (period === undefined || period === CUSTOM) return periodText(filters)
  return t.lists.periods[period as keyof typeof t.lists.periods] ?? period
}

function DateLabel({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" aria-hidden="true">
      {text}
    </Text>
  )
}

function PeriodField() {
  const [filters, setFilters] = useFilters()
  const chosen = filters.period ?? (filters.from || filters.to ? CUSTOM : '')
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label={t.lists.period}
        data-autofocus
        value={chosen}
        onChange={({ currentTarget: { value } }) =>
          setFilters({ period: value, ...(value !== CUSTOM && { from: null, to: null }) })
        }
        data={[
          { value: '', label: t.common.any },
          ...PERIODS.map((value) => ({ value, label: t.lists.periods[value] })),
          { value: CUSTOM, label: t.lists.periods.custom },
        ]}
      />
      <DayField name="from" label={t.common.from} />
      <DayField name="to" label={t.common.to} />
    </Group>
  )
}

function DayField({ name, label }: { name: 'from' | 'to'; label: string }) {
  const [filters, setFilters] = useFilters()
  return (
    <TextInput
      type="date"
      aria-label={label}
      leftSection={<DateLabel text={label} />}
      leftSectionWidth={SIDE_WIDTH}
      value={filters[name] ?? ''}
      onChange={(event) => setFilters({ period: CUSTOM, [name]: event.currentTarget.value })}
    />
  )
}
