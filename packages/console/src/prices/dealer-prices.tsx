import type { PriceRow, TenantPrices } from '@dealer-esim/gateway/http/console/prices/tenant-prices.ts'
import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { PackageName } from '#catalogue/package-name.tsx'
import { useList } from '#lists/use-list.ts'
import { SearchBox, useFilterKinds } from '#parts/filters.tsx'
import { statusColumn, valueColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Amount } from '#parts/values.tsx'
import { canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { DealerSection, useTenant } from '#tenants/dealer.tsx'
import { OwnPriceDialog } from './own-price.tsx'
import { PriceAssignment } from './price-assignment.tsx'

/** The prices of a dealer. Operators also see the source of each price. */
export function DealerPricesPage() {
  const me = useSession()
  const { tenantId } = useTenant()
  const [{ keyword, source }] = useFilters()
  const { choice } = useFilterKinds()
  const { sources } = t.prices
  const bySource = choice({ name: 'source', label: t.prices.source, values: Object.keys(sources), labels: sources })
  const isForOperator = isOperator(me)
  const query = { keyword, source: isForOperator ? source : undefined }
  const list = useList<PriceRow>(`/tenants/${tenantId}/prices`, 'prices', query, { isFileOrderFixed: true })
  const [setting, setSetting] = useState<PriceRow | 'any'>()
  const currency = (list.answer as TenantPrices | undefined)?.currencyCode ?? ''
  const empty = {
    title: t.prices.noPrices,
    text: isForOperator ? formatMessage(t.prices.noPricesText, { currency }) : t.prices.noPricesDealer,
  }
  return (
    <DealerSection title={t.prices.title} text={t.prices.dealerText}>
      {isForOperator && <PriceAssignment tenantId={tenantId} />}
      {canOperate(me) && (
        <Group>
          <Button onClick={() => setSetting('any')}>{t.prices.setOwnPrice}</Button>
        </Group>
      )}
      <List<PriceRow>
        label={t.prices.title}
        list={list}
        name="dealer-prices"
        search={<SearchBox name="keyword" label={t.prices.search} />}
        filters={isForOperator ? [bySource] : []}
        idOf={(row) => row.packageCode}
        {...(canOperate(me) && { onRowClick: setSetting })}
        empty={keyword || source ? { title: t.prices.noMatch, text: t.prices.noMatchText } : empty}
        columns={[
          valueColumn('name', t.prices.packageName, (row) => <PackageName name={row.name} location={null} />, {
            width: 330,
            phone: 'main',
          }),
          { accessor: 'packageCode', title: t.prices.code, width: 140, cellsClassName: 'mono', phone: 'note' },
          statusColumn('status', t.catalogue.status, { width: 115, phone: 'status', hidden: !isForOperator }),
          {
            accessor: 'price',
            title: t.prices.price,
            textAlign: 'right',
            phone: 'value',
            currency: () => currency,
            render: (row) => (row.price === null ? '–' : <Amount value={row.price} currency={currency} />),
          },
          valueColumn('source', t.prices.source, (row) => (row.source ? t.prices.sources[row.source] : '–'), {
            hidden: !isForOperator,
          }),
          {
            accessor: 'listPrice',
            title: t.prices.listPrice,
            textAlign: 'right',
            hidden: !isForOperator,
            currency: () => currency,
            render: (row) => <Amount value={row.listPrice ?? null} currency={currency} />,
          },
          {
            accessor: 'retailPrice',
            title: t.prices.retail,
            width: 130,
            textAlign: 'right',
            currency: () => currency,
            render: (row) => <Amount value={row.retailPrice} currency={currency} />,
          },
        ]}
      />
      {setting && (
        <OwnPriceDialog
          tenantId={tenantId}
          currency={currency}
          row={setting === 'any' ? undefined : setting}
          onClose={() => setSetting(undefined)}
        />
      )}
    </DealerSection>
  )
}
