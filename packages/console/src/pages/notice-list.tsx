import type { Notice } from '@dealer-esim/gateway/console-api/notices.ts'
import { Button, Group } from '@mantine/core'
import { List } from '../parts/list.tsx'
import { When } from '../parts/when.tsx'
import { useSession, works } from '../session.tsx'
import { t } from '../strings/index.ts'
import { useApi, useChange } from '../use-api.ts'
import { useFilters } from '../use-filters.ts'

export function NoticeList({ tenantId, unread }: { tenantId: string | null; unread?: boolean }) {
  const me = useSession()
  const [{ cursor }] = useFilters()
  const list = useApi<{ notices: Notice[]; nextCursor: string | null }>('/notices', { tenantId, unread, cursor })
  const read = useChange({ quiet: true })
  const unreadIds = (list.data?.notices ?? []).filter((row) => row.readAt === null).map((row) => row.noticeId)
  return (
    <>
      {works(me) && unreadIds.length > 0 && (
        <Group justify="flex-end">
          <Button
            size="xs"
            variant="default"
            onClick={() => read.mutate({ method: 'POST', path: '/notices/read', body: { noticeIds: unreadIds } })}
          >
            {t.notices.markRead}
          </Button>
        </Group>
      )}
      <List<Notice>
        label={t.notices.title}
        rows={list.data?.notices}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.noticeId}
        empty={{ title: t.notices.empty, text: t.notices.emptyText }}
        columns={[
          {
            accessor: 'kind',
            title: t.wallet.kind,
            render: (row) => (t.notices.kinds as Record<string, string>)[row.kind] ?? row.kind,
          },
          {
            accessor: 'message',
            title: t.notices.title,
            render: (row) => (row.readAt === null ? <strong>{row.message}</strong> : row.message),
          },
          { accessor: 'createdAt', title: t.common.time, render: (row) => <When at={row.createdAt} as="relative" /> },
        ]}
      />
    </>
  )
}
