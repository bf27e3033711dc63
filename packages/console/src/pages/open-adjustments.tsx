import type { AdjustmentRow } from '@dealer-esim/gateway/console-api/adjustments.ts'
import { Page } from '../parts/page.tsx'
import { t } from '../strings/index.ts'
import { useApi } from '../use-api.ts'
import { AdjustmentList } from './adjustments.tsx'

/** Adjustments of every dealer that wait for a second person. */
export function OpenAdjustmentsPage() {
  const list = useApi<{ adjustments: AdjustmentRow[] }>('/adjustments', { open: true })
  return (
    <Page title={t.wallet.adjustments} description={t.wallet.waiting}>
      <AdjustmentList
        rows={list.data?.adjustments}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        withDealer
      />
    </Page>
  )
}
