import { Button, Group, NativeSelect } from '@mantine/core'
import { useEffect, useState } from 'react'
import { formatDateTime } from '#parts/format.ts'
import { EmptyState } from '#parts/load-states.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Hint } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import type { ServerList } from './use-list.ts'

const PAGE_SIZES = ['25', '50', '100', '200']

/** The buttons between the pages of a list, and its page size. */
export function Pagination(props: { count: number; nextCursor: string | null; list: ServerList<unknown> }) {
  const { count, nextCursor, list } = props
  const [filters, setFilters] = useFilters()
  if (nextCursor === null && !filters.cursor && count < Number(PAGE_SIZES[0])) return null
  return (
    <Group justify="space-between" className="list-foot">
      <Hint>
        {list.searchedTo && count > 0
          ? formatMessage(t.lists.searchedTo, { time: formatDateTime(list.searchedTo) })
          : formatMessage(t.common.rowsOnPage, { count })}
      </Hint>
      <Group gap="xs">
        <NativeSelect
          size="xs"
          aria-label={t.lists.pageSize}
          value={filters.limit ?? '50'}
          onChange={(event) => setFilters({ limit: event.currentTarget.value })}
          data={PAGE_SIZES.map((value) => ({ value, label: formatMessage(t.lists.perPage, { count: value }) }))}
        />
        {filters.cursor && (
          <Button variant="default" size="xs" onClick={() => setFilters({ cursor: null })}>
            {t.common.firstPage}
          </Button>
        )}
        <Button
          variant="default"
          size="xs"
          disabled={nextCursor === null}
          onClick={() => setFilters({ cursor: nextCursor })}
        >
          {list.searchedTo ? t.lists.searchOn : t.common.nextPage}
        </Button>
      </Group>
    </Group>
  )
}

/**
 * Shown instead of an empty list while the search is unfinished. It continues automatically, in short requests, until
 * something is found or the person stops it.
 */
export function SearchedTo({ time, nextCursor }: { time: string; nextCursor: string | null }) {
  const [, setFilters] = useFilters()
  const [isStopped, setStopped] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each part of the search
  useEffect(() => {
    if (!isStopped && nextCursor !== null) setFilters({ cursor: nextCursor }, { replace: true })
  }, [nextCursor, isStopped])
  return (
    <EmptyState
      title={isStopped ? t.lists.nothingYet : t.lists.searching}
      text={formatMessage(t.lists.searchedTo, { time: formatDateTime(time) })}
      action={
        <Button variant="default" size="xs" onClick={() => setStopped(!isStopped)}>
          {isStopped ? t.lists.searchOn : t.lists.bulk.stop}
        </Button>
      }
    />
  )
}
