import { Badge } from '@mantine/core'
import { t } from '../strings/index.ts'

/** Colour says at a glance what the word says exactly; never colour alone. */
const COLORS: Record<string, string> = {
  ACTIVE: 'teal',
  ON_SALE: 'teal',
  DELIVERED: 'teal',
  IN_USE: 'teal',
  ENABLED: 'teal',
  APPROVED: 'teal',
  DONE: 'teal',
  ACKNOWLEDGED: 'teal',
  PAID: 'blue',
  ALLOCATING: 'blue',
  PENDING: 'blue',
  RUNNING: 'blue',
  GOT_RESOURCE: 'blue',
  DOWNLOAD: 'blue',
  INSTALLATION: 'blue',
  RELEASED: 'gray',
  PARTIALLY_DELIVERED: 'yellow',
  UNDER_REVIEW: 'orange',
  PROPOSED: 'orange',
  PAUSED: 'orange',
  INVITED: 'blue',
  FAILED: 'red',
  REFUSED: 'red',
  REJECTED: 'red',
  DEAD: 'red',
  SUSPENDED: 'red',
  DISABLED: 'red',
  REVOKED: 'red',
}

/** `texts` where a state has another name than usual. */
export function Status({ of, texts = t.statuses }: { of: string | null | undefined; texts?: Record<string, string> }) {
  if (!of) return <>–</>
  return (
    <Badge variant="light" color={COLORS[of] ?? 'gray'} tt="none" radius="sm" data-status={of}>
      {texts[of] ?? of}
    </Badge>
  )
}
