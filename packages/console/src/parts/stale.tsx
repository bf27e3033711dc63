import { Alert, Button, Group, Text } from '@mantine/core'
import { notifyManager, type QueryFilters, useQueryClient } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { say, t } from '../strings/index.ts'

/** What is on the page from an earlier read, though the latest one failed. */
const STALE: QueryFilters = {
  type: 'active',
  predicate: ({ state }) => state.status === 'error' && state.data !== undefined,
}

/** A line where reading again failed: the page below goes on with what it has, and so do the forms on it. */
export function Stale() {
  const client = useQueryClient()
  const cache = client.getQueryCache()
  const error = useSyncExternalStore(
    useCallback((changed) => cache.subscribe(notifyManager.batchCalls(changed)), [cache]),
    () => cache.findAll(STALE)[0]?.state.error,
  )
  if (!error) return null
  return (
    <Alert color="orange" role="status" py="xs">
      <Group justify="space-between" gap="sm">
        <Text size="sm">{say(t.errors.stale, { reason: error.message })}</Text>
        <Button size="xs" variant="default" onClick={() => client.refetchQueries(STALE)}>
          {t.common.retry}
        </Button>
      </Group>
    </Alert>
  )
}
