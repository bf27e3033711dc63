import { ESIM_STATUSES, SMDP_STATUSES } from '@dealer-esim/contract'
import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import { Button, Group, Text } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { PackageName } from '#catalogue/package-name.tsx'
import { periodRange } from '#lists/list-period.ts'
import type { ListView } from '#lists/list-views.tsx'
import { isFiltered, useList } from '#lists/use-list.ts'
import { OrderNumber, orderNumber } from '#orders/order-number.tsx'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
import { SearchBox, useFilterKinds } from '#parts/filters.tsx'
import { formatPartOf, formatVolume } from '#parts/format.ts'
import { figureColumn, statusColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { canSend, isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { DealerName } from '#tenants/dealer-name.tsx'
import { isOnlyIccid, parseTypedIccid } from './typed-iccid.ts'
import { SentMark, TravellerName } from './use-sends.tsx'

// Loaded when it is opened: most visits to the page send nothing.
const SendMany = lazy(() => import('./send-many.tsx'))

const VIEWS: ListView[] = (['GOT_RESOURCE', 'IN_USE', 'USED_UP'] as const).map((esimStatus) => ({
  label: t.statuses[esimStatus],
  search: { esimStatus },
}))

export function EsimsPage() {
  const me = useSession()
  const [filters] = useFilters()
  const { choice, period } = useFilterKinds()
  const choices = [
    choice({ name: 'esimStatus', label: t.esims.esimStatus, values: ESIM_STATUSES, labels: t.statuses }),
    choice({ name: 'smdpStatus', label: t.esims.smdpStatus, values: SMDP_STATUSES, labels: t.statuses }),
    ...useDealerFilter(),
    period(),
  ]
  const { esimStatus, smdpStatus, tenantId, orderNo } = filters
  // The search takes an ICCID, or the exact address to which an eSIM was sent.
  const email = filters.iccid?.includes('@') ? filters.iccid : undefined
  const iccid = filters.iccid === undefined || email ? undefined : parseTypedIccid(filters.iccid)
  const isIncomplete = filters.iccid !== undefined && iccid === undefined && email === undefined
  const query = { iccid, email, esimStatus, smdpStatus, tenantId, orderNo, ...periodRange(filters) }
  const list = useList<ProfileRow>('/profiles', 'profiles', query, { enabled: !isIncomplete })
  const [selected, setSelected] = useState<string[]>([])
  const chosen = (list.rows ?? []).filter((row) => selected.includes(row.profileId))
  return (
    <Page title={t.esims.title}>
      <List<ProfileRow>
        label={t.esims.title}
        list={isIncomplete ? { ...list, rows: [], loading: false } : list}
        name="esims"
        search={<SearchBox name="iccid" label={t.esims.search} isForUrl={isOnlyIccid} />}
        filters={choices}
        views={VIEWS}
        {...(canSend(me) && { selected, onSelect: setSelected })}
        {...(chosen.length > 0 && { bulk: <EsimBulk esims={chosen} onClear={() => setSelected([])} /> })}
        idOf={(row) => row.profileId}
        to={(row) => `/tenants/${row.tenantId}/profiles/${row.profileId}`}
        empty={
          isIncomplete
            ? { title: t.esims.searchHint }
            : isFiltered(filters)
              ? { title: t.esims.noMatch, text: t.esims.noMatchText }
              : { title: t.esims.noEsims, text: t.esims.noEsimsText }
        }
        columns={[
          {
            accessor: 'packageName',
            title: t.esims.package,
            phone: 'main',
            width: 255,
            render: (row) => <PackageName name={row.packageName} location={row.location} />,
          },
          valueColumn('orderNo', t.esims.order, (row) => <OrderNumber order={row} />, { width: 66 }),
          valueColumn('clientName', t.common.dealer, (row) => <DealerName name={row.clientName} />, {
            width: 115,
            hidden: !isOperator(me),
          }),
          {
            accessor: 'traveller',
            title: t.esims.traveller,
            phone: 'note',
            width: 115,
            // Beside the dealer's name there is no room for it. The search finds its address.
            optional: isOperator(me),
            render: (row) => <TravellerOfRow row={row} />,
          },
          { accessor: 'sendStatus', title: t.esims.sent, width: 130, render: (row) => <SentMark profile={row} /> },
          { accessor: 'iccid', title: t.esims.iccid, width: 100, cellsClassName: 'mono shows-end' },
          statusColumn('esimStatus', t.esims.esimStatus, { width: 130, phone: 'status' }),
          statusColumn('smdpStatus', t.esims.smdpStatus, { optional: true }),
          figureColumn('usage', t.esims.usage, formatUsage, { width: 125, phone: 'value', isNamed: true }),
          timeColumn('createdAt', t.common.created, { width: 153 }),
          { accessor: 'transactionId', title: t.orders.transactionId, optional: true, cellsClassName: 'break' },
          { accessor: 'supplier', title: t.orders.supplier, optional: true, hidden: !isOperator(me) },
          timeColumn('expiredTime', t.esims.expires, { optional: true }),
        ]}
      />
    </Page>
  )
}

/** To whom an eSIM was sent; on a phone after the number of its order, which has no column there. */
function TravellerOfRow({ row }: { row: ProfileRow }) {
  return (
    <>
      <Text span inherit hiddenFrom="sm">
        {orderNumber(row)}
        {row.traveller && ' · '}
      </Text>
      <Text span inherit {...(row.traveller === null && { visibleFrom: 'sm' })}>
        <TravellerName profile={row} />
      </Text>
    </>
  )
}

/** The bar above the list while eSIMs are selected. */
function EsimBulk({ esims, onClear }: { esims: ProfileRow[]; onClear(): void }) {
  const [isSending, setIsSending] = useState(false)
  const isOfOneDealer = new Set(esims.map(({ tenantId }) => tenantId)).size === 1
  return (
    <Group gap="xs" className="list-bar" data-bulk>
      <Text size="sm" fw={600}>
        {formatMessage(t.lists.bulk.selected, { count: esims.length })}
      </Text>
      {isOfOneDealer ? (
        <Button size="xs" variant="default" onClick={() => setIsSending(true)}>
          {t.esims.many.title}
        </Button>
      ) : (
        <Text size="sm">{t.esims.many.severalDealers}</Text>
      )}
      <Button size="xs" variant="subtle" onClick={onClear}>
        {t.lists.bulk.clear}
      </Button>
      {isSending && (
        <Suspense>
          <SendMany esims={esims} onClose={() => setIsSending(false)} />
        </Suspense>
      )}
    </Group>
  )
}

export function formatUsage({ orderUsage, totalVolume }: ProfileRow): string {
  if (orderUsage === null) return '–'
  const used = formatPartOf(totalVolume, orderUsage)
  return totalVolume === null ? used : `${used} / ${formatVolume(totalVolume)}`
}
