import type { OrderRow } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { useEffect, useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { LoadState } from '#parts/load-states.tsx'
import { NotFound, Page } from '#parts/page.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import type { Press } from './cart.tsx'
import { ChoosePackages } from './choose-packages.tsx'
import { OrderProgress } from './order-progress.tsx'

/**
 * The order form. The transactionId is created when the form opens and stays in its address: a form that is submitted
 * twice, reloaded or reopened with Back buys once, and shows an existing order.
 */
export function BuyPage() {
  const me = useSession()
  const [{ order: transactionId }, setFilters] = useFilters()
  const [press, setPress] = useState<Press>()
  function begin() {
    setPress(undefined)
    setFilters({ order: `console-${crypto.randomUUID()}` })
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only an address without a transactionId needs one
  useEffect(() => {
    if (transactionId === undefined) begin()
  }, [transactionId])
  const isOpen = transactionId !== undefined
  const found = useApi<{ orders: OrderRow[] }>('/orders', { q: transactionId }, { enabled: isOpen })
  if (me.tenant === null) return <NotFound />
  const order = found.data?.orders.find((one) => one.transactionId === transactionId)
  if (order) return <OrderProgress order={order} press={press} buyMore={begin} />
  return (
    <Page title={t.portal.title}>
      {!found.data && <LoadState error={found.error} retry={found.refetch} />}
      {found.data && isOpen && (
        <ChoosePackages
          key={transactionId}
          {...{ transactionId }}
          tenantId={me.tenant.tenantId}
          onBuy={setPress}
          // The order may exist, although its answer was lost.
          onFailure={() => void found.refetch()}
        />
      )}
    </Page>
  )
}
