import { Button, Collapse, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks'
import { IconAdjustmentsHorizontal, IconSearch } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { PERIODS } from '#lists/list-period.ts'
import { t } from '#strings/strings.ts'
import { useFilters } from './use-filters.ts'

/** The filters of a list: the search field, and the others, which are folded on a phone. */
export function FilterBar({ search, children }: { search?: ReactNode; children: ReactNode }) {
  const [open, fold] = useDisclosure(false)
  return (
    <Group className="filters">
      {search}
      <Button
        hiddenFrom="sm"
        variant="default"
        leftSection={<IconAdjustmentsHorizontal size={16} />}
        aria-expanded={open}
        onClick={fold.toggle}
      >
        {t.lists.filters}
      </Button>
      <Group className="filters-more" data-open={open || undefined}>
        {children}
      </Group>
    </Group>
  )
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

/** A text filter that is kept in the URL under its name. */
export function FilterField({ name, label, w = 170 }: { name: string; label: string; w?: number }) {
  const [filters, setFilters] = useFilters()
  return (
    <SearchField label={label} value={filters[name] ?? ''} onChange={(value) => setFilters({ [name]: value })} w={w} />
  )
}

/** A drop-down filter, kept in the URL under its name. */
export function FilterSelect(props: {
  name: string
  label: string
  values: readonly string[]
  labels: Record<string, string>
  /** Values by group, in the order in which they are shown. */
  groups?: { group: string; values: readonly string[] }[]
}) {
  const { name, label, labels } = props
  const [filters, setFilters] = useFilters()
  const itemsOf = (values: readonly string[]) => values.map((value) => ({ value, label: labels[value] ?? value }))
  const groups = props.groups?.map(({ group, values }) => ({ group, items: itemsOf(values) }))
  return (
    <NativeSelect
      aria-label={label}
      value={filters[name] ?? ''}
      onChange={(event) => setFilters({ [name]: event.currentTarget.value })}
      data={[{ value: '', label: `${label}: ${t.common.any}` }, ...(groups ?? itemsOf(props.values))]}
    />
  )
}

const CUSTOM = 'custom'
const SIDE_WIDTH = 52

function DateLabel({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" aria-hidden="true">
      {text}
    </Text>
  )
}

/** A period by name, or its first and last day, in the browser's time zone. */
export function PeriodFilter() {
  const [filters, setFilters] = useFilters()
  const chosen = filters.period ?? (filters.from || filters.to ? CUSTOM : '')
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label={t.lists.period}
        value={chosen}
        onChange={({ currentTarget: { value } }) =>
          setFilters({ period: value, ...(value !== CUSTOM && { from: null, to: null }) })
        }
        data={[
          { value: '', label: `${t.lists.period}: ${t.common.any}` },
          ...PERIODS.map((value) => ({ value, label: t.lists.periods[value] })),
          { value: CUSTOM, label: t.lists.periods.custom },
        ]}
      />
      <Collapse expanded={chosen === CUSTOM} keepMounted={false}>
        <Group gap="xs">
          <DayField name="from" label={t.common.from} />
          <DayField name="to" label={t.common.to} />
        </Group>
      </Collapse>
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
