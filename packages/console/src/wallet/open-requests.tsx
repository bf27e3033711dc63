import { Badge } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { formatMessage, t } from '#strings/strings.ts'

const REFRESH_MS = 15_000

/** How many top-up requests are waiting for an operator, in the navigation. Hidden at 0. */
export function OpenRequests() {
  const { data } = useApi<{ open: number }>('/top-up-requests/open', {}, { refreshMs: REFRESH_MS })
  if (!data?.open) return null
  return (
    <Badge
      size="sm"
      circle={data.open < 10}
      aria-label={formatMessage(t.topUpRequests.open, { count: data.open })}
      data-open-requests
    >
      {data.open}
    </Badge>
  )
}
