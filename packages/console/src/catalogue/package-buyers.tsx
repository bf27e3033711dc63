import type { PackageBuyer, PackageDetail } from '@dealer-esim/gateway/http/console/catalogue-packages.ts'
import { Group, TextInput } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { useList } from '#lists/use-list.ts'
import { DealerSelect } from '#parts/dealer-filter.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { SearchBox } from '#parts/filters.tsx'
import { figureColumn, moneyColumn, RowButton, timeColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Amount, Hint } from '#parts/values.tsx'
import { ExplainedPrice } from '#prices/explanation.tsx'
import { sourceText } from '#prices/plan-rule-text.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { momentOf } from '#strings/zone.ts'
import { packagePath } from './catalogue-paths.ts'
import { PackageFrame } from './package.tsx'
import { formatMargin } from './price-rows.tsx'

/** Shows who pays what for a package and why, and what a dealer would pay at another time. */
export function PackageBuyersPage() {
  const { packageCode } = useParams({ strict: false }) as { packageCode: string }
  const { data } = useApi<PackageDetail>(packagePath(packageCode))
  const [{ q }] = useFilters()
  const list = useList<PackageBuyer>(`${packagePath(packageCode)}/buyers`, 'buyers', { q })
  const [explained, setExplained] = useState<PackageBuyer>()
  return (
    <PackageFrame packageCode={packageCode} detail={data}>
      {data && <ListPrices rows={data.listPrices} />}
      <Simulator packageCode={packageCode} />
      <Card title={t.package.buyers}>
        <Hint>{t.package.buyersText}</Hint>
        <List<PackageBuyer>
          label={t.package.buyers}
          list={list}
          name="package-buyers"
          search={<SearchBox name="q" label={t.package.searchDealer} />}
          idOf={(row) => row.tenantId}
          to={(row) => `/tenants/${row.tenantId}/prices`}
          empty={{ title: t.package.noBuyers }}
          columns={[
            { accessor: 'clientName', title: t.common.dealer },
            timeColumn('createdAt', t.common.created, { optional: true }),
            moneyColumn('price', t.prices.price),
            { accessor: 'source', title: t.prices.source, render: (row) => sourceText(row) },
            figureColumn('margin', t.package.marginTitle, (row) => <Margin row={row} />),
            {
              accessor: 'why',
              title: t.common.actions,
              textAlign: 'right',
              render: (row) => (
                <RowButton
                  label={t.package.why}
                  name={`${t.package.why} ${row.clientName}`}
                  onClick={() => setExplained(row)}
                />
              ),
            },
          ]}
        />
      </Card>
      {explained && (
        <Dialog
          title={formatMessage(t.package.whyFor, { dealer: explained.clientName })}
          opened
          size="lg"
          onClose={() => setExplained(undefined)}
          onSubmit={() => setExplained(undefined)}
          submit={t.common.close}
          hasCancel={false}
        >
          <ExplainedPrice packageCode={packageCode} tenantId={explained.tenantId} />
        </Dialog>
      )}
    </PackageFrame>
  )
}

type ListPriceRow = PackageDetail['listPrices'][number]

function ListPrices({ rows }: { rows: ListPriceRow[] }) {
  return (
    <Card title={t.package.listPrices}>
      <Hint>{t.package.marginsText}</Hint>
      <List<ListPriceRow>
        label={t.package.listPrices}
        rows={rows}
        idOf={(row) => row.currencyCode}
        empty={{ title: t.package.noListPrices }}
        columns={[
          { accessor: 'currencyCode', title: t.prices.currency },
          moneyColumn('price', t.prices.listPrice),
          {
            accessor: 'cost',
            title: t.package.lowestCost,
            textAlign: 'right',
            render: ({ cost, currencyCode }) =>
              cost === null ? t.package.unknown : <Amount value={cost} currency={currencyCode} />,
          },
          figureColumn('margin', t.package.marginTitle, (row) => <Margin row={row} />),
        ]}
      />
    </Card>
  )
}

function Margin({
  row: { price, cost, currencyCode },
}: {
  row: Pick<PackageBuyer, 'price' | 'cost' | 'currencyCode'>
}) {
  if (price === null) return <>–</>
  if (cost === null) return t.package.unknown
  const text = formatMargin(price, cost, currencyCode)
  return price < cost ? <strong className="negative">{text}</strong> : text
}

function Simulator({ packageCode }: { packageCode: string }) {
  const [tenantId, setTenantId] = useState<string>()
  const [at, setAt] = useState('')
  return (
    <Card title={t.package.simulator}>
      <Hint>{t.package.simulatorText}</Hint>
      <Group align="flex-end">
        <DealerSelect value={tenantId} onChange={(chosen) => setTenantId(chosen ?? undefined)} />
        <TextInput
          type="datetime-local"
          label={t.package.at}
          description={t.package.atHint}
          value={at}
          onChange={(event) => setAt(event.currentTarget.value)}
        />
      </Group>
      {tenantId !== undefined && (
        <ExplainedPrice packageCode={packageCode} tenantId={tenantId} at={at === '' ? undefined : momentOf(at)} />
      )}
    </Card>
  )
}
