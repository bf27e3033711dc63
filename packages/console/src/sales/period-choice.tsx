import { Group, NativeSelect, TextInput } from '@mantine/core'
import { useFilters } from '#parts/use-filters.ts'
import { t } from '#strings/strings.ts'
import { PERIODS, type Period, type PeriodName } from './sales-period.ts'

const CUSTOM = 'custom'

/** Named periods, or two days. Kept in the URL; `otherwise` is the period of a URL that has none. */
export function PeriodChoice({ period, otherwise }: { period: Period; otherwise: PeriodName }) {
  const [filters, setFilters] = useFilters()
  const isCustom = filters.from !== undefined && filters.to !== undefined
  const choose = (name: string) =>
    setFilters(name === CUSTOM ? { period: null, ...period } : { period: name, from: null, to: null })
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label={t.dashboard.period}
        value={isCustom ? CUSTOM : (filters.period ?? otherwise)}
        onChange={(event) => choose(event.currentTarget.value)}
        data={[
          ...PERIODS.map((value) => ({ value, label: t.sales.periods[value] })),
          { value: CUSTOM, label: t.sales.periods.custom },
        ]}
      />
      {isCustom && (
        <>
          <TextInput
            type="date"
            aria-label={t.common.from}
            value={period.from}
            max={period.to}
            onChange={(event) =>
              event.currentTarget.value && setFilters({ ...period, from: event.currentTarget.value })
            }
          />
          <TextInput
            type="date"
            aria-label={t.common.to}
            value={period.to}
            min={period.from}
            onChange={(event) => event.currentTarget.value && setFilters({ ...period, to: event.currentTarget.value })}
          />
        </>
      )}
    </Group>
  )
}
