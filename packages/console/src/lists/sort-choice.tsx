import { ActionIcon, Group, NativeSelect } from '@mantine/core'
import { IconSortAscending, IconSortDescending } from '@tabler/icons-react'
import { t } from '#strings/strings.ts'
import type { Sorting } from './sorting.ts'

/** Sorts a list on a phone, where it has no headers. */
export default function SortChoice(props: { sorting: Sorting; columns: { accessor: string; title: string }[] }) {
  const { sorting, columns } = props
  const known = columns.filter(({ accessor }) => sorting.by(accessor) !== 'NEVER')
  if (known.length === 0) return null
  const accessor = sorting.current?.replace(/^-/, '') ?? ''
  const isDescending = sorting.current?.startsWith('-') ?? false
  const Icon = isDescending ? IconSortDescending : IconSortAscending
  return (
    <Group gap="xs" wrap="nowrap" hiddenFrom="sm" className="list-order">
      <NativeSelect
        size="xs"
        flex={1}
        aria-label={t.lists.order}
        value={accessor}
        onChange={({ currentTarget: { value } }) => sorting.set(value || undefined)}
        data={[
          { value: '', label: `${t.lists.order}: ${t.lists.usualOrder}` },
          ...known.map((column) => ({
            value: column.accessor,
            label: column.title,
            disabled: sorting.by(column.accessor) === 'TOO_MANY',
          })),
        ]}
      />
      <ActionIcon
        variant="default"
        size={30}
        disabled={accessor === ''}
        aria-label={isDescending ? t.lists.descending : t.lists.ascending}
        onClick={() => sorting.set(isDescending ? accessor : `-${accessor}`)}
      >
        <Icon size={16} aria-hidden="true" />
      </ActionIcon>
    </Group>
  )
}
