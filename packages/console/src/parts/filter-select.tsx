import { NativeSelect } from '@mantine/core'
import { t } from '../strings/index.ts'
import { useFilters } from '../use-filters.ts'

/** A choice that filters a list, kept in the address under its name. */
export function FilterSelect(props: {
  name: string
  label: string
  of: readonly string[]
  texts: Record<string, string>
}) {
  const [filters, setFilters] = useFilters()
  return (
    <NativeSelect
      aria-label={props.label}
      value={filters[props.name] ?? ''}
      onChange={(event) => setFilters({ [props.name]: event.currentTarget.value })}
      data={[
        { value: '', label: `${props.label}: ${t.common.any}` },
        ...props.of.map((value) => ({ value, label: props.texts[value] ?? value })),
      ]}
    />
  )
}
