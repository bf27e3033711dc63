import { ActionIcon, Badge } from '@mantine/core'
import { IconBell } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { ALERTS_PATH } from './navigation.ts'

const REFRESH_MS = 60_000
/** The highest number that the gateway counts to. */
const SHOWN_MAX = 99

/** Links to the alerts and shows how many are unread. */
export function AlertBell() {
  const { data } = useApi<{ count: number }>('/notices/unread', {}, { refreshMs: REFRESH_MS })
  const count = data?.count ?? 0
  const text = count > SHOWN_MAX ? `${SHOWN_MAX}+` : String(count)
  const unread = formatMessage(t.alerts.unreadCount, { count: text })
  return (
    <ActionIcon
      component={Link}
      to={ALERTS_PATH}
      variant="subtle"
      color="gray"
      size="lg"
      className="bell"
      aria-label={count === 0 ? t.alerts.title : `${t.alerts.title}: ${unread}`}
    >
      <IconBell size={18} />
      {count > 0 && (
        <Badge size="xs" color="red" variant="filled" aria-hidden="true">
          {text}
        </Badge>
      )}
    </ActionIcon>
  )
}
