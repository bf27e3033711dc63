import { Alert, Anchor, Button, Center, Group, Loader, Stack, Text } from '@mantine/core'
import { notifyManager, onlineManager, type QueryFilters, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useCallback, useContext, useSyncExternalStore } from 'react'
import { ApiError, consoleBase } from '#api/call-api.ts'
import { isOperator, SessionContext } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

export function Loading() {
  return (
    <Center mih={240}>
      <Loader role="status" aria-label={t.common.loading} />
    </Center>
  )
}

/** Shows the gateway's error message, and a button to try again where that can help. */
export function LoadError({ error, retry }: { error: Error; retry?: (() => unknown) | undefined }) {
  if (error instanceof ApiError && error.code === 'NOT_ALLOWED')
    return (
      <Alert color="orange" title={t.errors.noAccess} role="alert" my="md" data-failure>
        <Stack gap="sm" align="flex-start">
          <Text size="sm">
            <NoAccessText />
          </Text>
          <Anchor href={consoleBase.href} size="sm">
            {t.errors.goToDashboard}
          </Anchor>
        </Stack>
      </Alert>
    )
  return (
    <Alert color="red" title={t.errors.title} role="alert" my="md" data-failure>
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{error.message}</Text>
        {retry && !isNotFound(error) && (
          <Button size="xs" variant="default" onClick={() => retry()}>
            {t.common.retry}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

/** Shown in place of what is not loaded yet, or cannot be loaded. */
export function LoadState({ error, retry }: { error: Error | null; retry: () => unknown }) {
  return error ? <LoadError error={error} retry={retry} /> : <Loading />
}

/** The error. Screen readers announce it immediately. */
export function ErrorText({ children }: { children: ReactNode }) {
  return (
    <Alert color="red" role="alert">
      {children}
    </Alert>
  )
}

/** Trying again would not help. */
function isNotFound(error: Error): boolean {
  return error instanceof ApiError && error.status === 404
}

/** Says why this account may not see something, and whom to ask. */
export function NoAccessText() {
  const me = useContext(SessionContext)
  if (!me) return null
  const { noAccessDealer, noAccessOperator, noAccessView } = t.errors
  const text = me.viewOnly ? noAccessView : isOperator(me) ? noAccessOperator : noAccessDealer
  return <>{formatMessage(text, { role: t.roles[me.role] })}</>
}

/** Queries that show data from an earlier read because the latest one failed. */
const STALE: QueryFilters = {
  type: 'active',
  predicate: ({ state }) => state.status === 'error' && state.data !== undefined,
}

/** Warns that refreshing failed, or that there is no connection. The page below keeps its data, and its forms keep their input. */
export function StaleAlert() {
  const isOnline = useSyncExternalStore(
    useCallback((changed) => onlineManager.subscribe(changed), []),
    () => onlineManager.isOnline(),
  )
  const client = useQueryClient()
  const cache = client.getQueryCache()
  const error = useSyncExternalStore(
    useCallback((changed) => cache.subscribe(notifyManager.batchCalls(changed)), [cache]),
    () => cache.findAll(STALE)[0]?.state.error,
  )
  if (!isOnline)
    return (
      <Alert color="orange" role="status" py="xs" data-offline>
        {t.lists.offline}
      </Alert>
    )
  if (!error) return null
  return (
    <Alert color="orange" role="status" py="xs">
      <Group justify="space-between" gap="sm">
        <Text size="sm">{formatMessage(t.errors.stale, { reason: error.message })}</Text>
        <Button size="xs" variant="default" onClick={() => client.refetchQueries(STALE)}>
          {t.common.retry}
        </Button>
      </Group>
    </Alert>
  )
}

/** Explains why there is nothing here, and what to do. */
export function EmptyState({ title, text, action }: { title: ReactNode; text?: string; action?: ReactNode }) {
  if (!text && !action)
    return (
      <Text c="dimmed" size="sm" px="md" py="sm">
        {title}
      </Text>
    )
  return (
    <Stack align="center" gap={6} py="xl" px="md" ta="center">
      <Text fw={600}>{title}</Text>
      {text && (
        <Text c="dimmed" size="sm" maw={480}>
          {text}
        </Text>
      )}
      {action}
    </Stack>
  )
}
