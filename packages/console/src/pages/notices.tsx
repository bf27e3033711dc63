import { Switch } from '@mantine/core'
import { Page } from '../parts/page.tsx'
import { t } from '../strings/index.ts'
import { useFilters } from '../use-filters.ts'
import { NoticeList } from './notice-list.tsx'

/** What the gateway has to say to this organisation. */
export function NoticesPage() {
  const [filters, setFilters] = useFilters()
  const unread = filters.unread === 'true'
  return (
    <Page
      title={t.notices.title}
      actions={
        <Switch
          label={t.notices.unreadOnly}
          checked={unread}
          onChange={(event) => setFilters({ unread: event.currentTarget.checked ? 'true' : null })}
        />
      }
    >
      <NoticeList tenantId={null} unread={unread} />
    </Page>
  )
}
