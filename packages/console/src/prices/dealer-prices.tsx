import type { PriceRow, TenantPrices } from '@dealer-esim/gateway/console-api/tenant-prices.ts'
import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '../api/use-api.ts'
import { TenantSection, useTenant } from '../dealers/dealer.tsx'
import { FilterSelect, SearchField, useFilters } from '../parts/filters.tsx'
import { List } from '../parts/list.tsx'
import { Amount, Status } from '../parts/values.tsx'
import { isOperator, operates, useSession } from '../session/session.ts'
import { say, t } from '../strings/strings.ts'
import { OwnPrice } from './own-price.tsx'
import { PriceAssignment } from './price-assignment.tsx'

/** What a dealer pays: to operators with what decides it, to the dealer's own people as their price list. */
export function TenantPricesPage() {
  const me = useSession()
  const { tenantId } = useTenant()
  const [{ keyword, source, cursor }, setFilters] = useFilters()
  const ofOperator = isOperator(me)
  const path = `/tenants/${tenantId}/prices`
  const list = useApi<TenantPrices>(path, { keyword, source: ofOperator ? source : undefined, cursor })
  const [setting, setSetting] = useState<PriceRow | 'any'>()
  const currency = list.data?.currencyCode ?? ''
  const empty = {
    title: t.prices.empty,
    text: ofOperator ? say(t.prices.emptyText, { currency }) : t.prices.emptyDealer,
  }
  return (
    <TenantSection title={t.prices.title} text={t.prices.dealerText}>
      {ofOperator && <PriceAssignment tenantId={tenantId} />}
      <Group>
        <SearchField
          label={t.prices.keyword}
          value={keyword ?? ''}
          onChange={(value) => setFilters({ keyword: value })}
        />
        {ofOperator && (
          <FilterSelect
            name="source"
            label={t.prices.decides}
            of={Object.keys(t.prices.sources)}
            texts={t.prices.sources}
          />
        )}
        {operates(me) && <Button onClick={() => setSetting('any')}>{t.prices.setOwn}</Button>}
      </Group>
      <List<PriceRow>
        label={t.prices.title}
        rows={list.data?.prices}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.packageCode}
        {...(operates(me) && { onRow: setSetting })}
        empty={keyword || source ? { title: t.prices.noneFits, text: t.prices.noneFitsText } : empty}
        columns={[
          { accessor: 'packageCode', title: t.prices.code, cellsClassName: 'mono' },
          { accessor: 'name', title: t.prices.packageName },
          {
            accessor: 'status',
            title: t.catalogue.status,
            hidden: !ofOperator,
            render: (row) => <Status of={row.status} />,
          },
          {
            accessor: 'price',
            title: t.prices.price,
            textAlign: 'right',
            render: (row) => <Amount of={row.price} currency={currency} />,
          },
          {
            accessor: 'source',
            title: t.prices.decides,
            hidden: !ofOperator,
            render: (row) => (row.source ? t.prices.sources[row.source] : '–'),
          },
          {
            accessor: 'listPrice',
            title: t.prices.list,
            textAlign: 'right',
            hidden: !ofOperator,
            render: (row) => <Amount of={row.listPrice ?? null} currency={currency} />,
          },
          {
            accessor: 'retailPrice',
            title: t.prices.retail,
            textAlign: 'right',
            render: (row) => <Amount of={row.retailPrice} currency={currency} />,
          },
        ]}
      />
      {setting && (
        <OwnPrice
          tenantId={tenantId}
          currency={currency}
          row={setting === 'any' ? undefined : setting}
          onClose={() => setSetting(undefined)}
        />
      )}
    </TenantSection>
  )
}
