import type { RecoveryView } from '@dealer-esim/gateway/http/console/operations/recovery.ts'
import { Alert, Button } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { formatDateTime } from '#parts/format.ts'
import { Page } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { type Doing, RecoveryDialog } from './recovery-dialogs.tsx'
import {
  Accepted,
  Batches,
  Credits,
  Dealers,
  Debits,
  OpenActions,
  OpenOrders,
  Suppliers,
  Theirs,
  Transactions,
} from './recovery-sections.tsx'

/** After a restore: ours, theirs, in doubt, what an operator does about each, and the release of dealers. */
export function RecoveryPage() {
  const query = useApi<RecoveryView>('/recovery')
  const { data } = query
  const [doing, setDoing] = useState<Doing>()
  const act = isOperatorAdmin(useSession()) ? setDoing : undefined
  const recovery = data?.recovery
  /** What is held stays so after the recovery. The rest is reported only during one. */
  const isOver = recovery === null
  const shows = (rows: readonly unknown[] | undefined) => !isOver || (rows !== undefined && rows.length > 0)
  return (
    <Page
      title={t.recovery.title}
      description={t.recovery.text}
      actions={
        recovery &&
        act && (
          <Button onClick={() => act({ kind: 'release', dealer: 'all', doubts: data.doubts })}>
            {t.recovery.releaseAll}
          </Button>
        )
      }
    >
      {recovery === null && <Alert color="teal">{t.recovery.none}</Alert>}
      {recovery && (
        <Alert color="orange" role="alert">
          {formatMessage(recovery.preparedAt === null ? t.recovery.unprepared : t.recovery.active, {
            from: formatDateTime(recovery.backupStartedAt),
            to: formatDateTime(recovery.restoredAt),
          })}
        </Alert>
      )}
      {data && data.omitted > 0 && <Hint>{formatMessage(t.recovery.omitted, { omitted: data.omitted })}</Hint>}
      {!isOver && <Suppliers {...{ query, act }} rows={data?.suppliers} />}
      {!isOver && <OpenOrders query={query} rows={data?.openOrders} />}
      {shows(data?.openActions) && <OpenActions query={query} rows={data?.openActions} />}
      {!isOver && <Theirs {...{ query, act }} rows={data?.theirs} />}
      {shows(data?.transactions) && <Transactions {...{ query, act }} rows={data?.transactions} />}
      {shows(data?.debits) && <Debits query={query} rows={data?.debits} />}
      {shows(data?.batches) && <Batches {...{ query, act }} rows={data?.batches} />}
      {recovery && <Credits recovery={recovery} act={act} />}
      {!isOver && <Dealers {...{ query, act }} rows={data?.dealers} doubts={data?.doubts ?? []} />}
      {data && data.accepted.length > 0 && <Accepted {...{ query, rows: data.accepted }} />}
      {doing && <RecoveryDialog doing={doing} onClose={() => setDoing(undefined)} />}
    </Page>
  )
}
