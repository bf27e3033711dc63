import { DATA_TYPES, GLOBAL, PACKAGE_STATUSES, REGIONAL } from '@dealer-esim/contract'
import type { PackageRow } from '@dealer-esim/gateway/http/console/catalogue.ts'
import { Box, Button } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Bulk } from '#lists/bulk.tsx'
import type { ListView } from '#lists/list-views.tsx'
import { isFiltered, useList } from '#lists/use-list.ts'
import { SearchBox, useFilterKinds } from '#parts/filters.tsx'
import { formatMoney, formatVolume } from '#parts/format.ts'
import { valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Status } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { formatMessage, locale, t } from '#strings/strings.ts'
import { ADD_PACKAGE, packagePath } from './catalogue-paths.ts'
import { PackageName } from './package-name.tsx'
import { locationOf } from './package-title.ts'

const VIEWS: ListView[] = (['ON_SALE', 'OFF_SALE'] as const).map((status) => ({
  label: t.statuses[status],
  search: { status },
}))

export function CataloguePage() {
  const me = useSession()
  const navigate = useNavigate()
  const [filters] = useFilters()
  const { choice, typed } = useFilterKinds()
  const choices = [
    typed('locationCode', t.catalogue.location),
    choice({ name: 'status', label: t.catalogue.status, values: PACKAGE_STATUSES, labels: t.statuses }),
    choice({ name: 'dataType', label: t.catalogue.dataType, values: DATA_TYPES, labels: t.catalogue.dataTypes }),
    typed('supplier', t.orders.supplier),
  ]
  const { keyword, status, dataType, supplier } = filters
  const locationCode = /^([A-Z]{2}|!RG|!GL)$/.test(filters.locationCode?.toUpperCase() ?? '')
    ? filters.locationCode?.toUpperCase()
    : undefined
  const query = { keyword, locationCode, status, dataType, supplier }
  const list = useList<PackageRow>('/packages', 'packages', query)
  const [selected, setSelected] = useState<string[]>([])
  const importButton = canOperate(me) && (
    <Button variant="default" onClick={() => void navigate({ to: '/catalogue/import' })}>
      {t.catalogue.import}
    </Button>
  )
  const chosen = (list.rows ?? []).filter((row) => selected.includes(row.packageCode))
  return (
    <Page
      title={t.catalogue.title}
      actions={
        <>
          {importButton}
          {canOperate(me) && (
            <Button component={Link} to={ADD_PACKAGE}>
              {t.package.add}
            </Button>
          )}
        </>
      }
    >
      <List<PackageRow>
        label={t.catalogue.title}
        list={list}
        name="packages"
        search={<SearchBox name="keyword" label={t.catalogue.search} />}
        filters={choices}
        views={VIEWS}
        idOf={(row) => row.packageCode}
        to={(row) => packagePath(row.packageCode)}
        {...(canOperate(me) && { selected, onSelect: setSelected })}
        {...(chosen.length > 0 && { bulk: <SaleBulk packages={chosen} onClear={() => setSelected([])} /> })}
        empty={
          isFiltered(filters)
            ? { title: t.catalogue.noMatch, text: t.catalogue.noMatchText }
            : { title: t.catalogue.noPackages, text: t.catalogue.noPackagesText, action: importButton }
        }
        columns={[
          {
            accessor: 'name',
            title: t.catalogue.name,
            phone: 'main',
            width: 325,
            render: (row) => <PackageName name={row.name} location={locationOf(row.locationCodes)} />,
          },
          { accessor: 'packageCode', title: t.catalogue.code, cellsClassName: 'mono', phone: 'note', width: 110 },
          valueColumn('status', t.catalogue.status, (row) => <SaleStatus row={row} />, {
            phone: 'status',
            width: 110,
          }),
          { accessor: 'volume', title: t.catalogue.volume, textAlign: 'right', width: 120, render: packageVolume },
          { accessor: 'duration', title: t.catalogue.duration, textAlign: 'right', width: 80 },
          valueColumn('locationCodes', t.catalogue.coverage, (row) => formatCountries(row.locationCodes), {
            optional: true,
          }),
          {
            accessor: 'prices',
            title: t.catalogue.prices,
            textAlign: 'right',
            phone: 'value',
            width: 200,
            render: pricesOf,
          },
          {
            accessor: 'suppliers',
            title: t.catalogue.suppliers,
            width: 95,
            render: (row) => summarize(row.suppliers.map((one) => one.supplier)),
          },
        ]}
      />
    </Page>
  )
}

/** On a phone only where it is an exception. */
function SaleStatus({ row }: { row: PackageRow }) {
  const status = saleStatus(row)
  return (
    <Box component="span" {...(status === 'ON_SALE' && { visibleFrom: 'sm' })}>
      <Status status={status} />
    </Box>
  )
}

/** A package that is on sale is not sold while none of its suppliers has money. */
function saleStatus({ status, lacksMoney }: PackageRow): string {
  return lacksMoney && status === 'ON_SALE' ? 'NO_MONEY' : status
}

const countries = new Intl.DisplayNames(locale, { type: 'region' })

/** The country's name, or the number of countries. */
function formatCountries(locationCodes: string[]): string {
  const codes = locationCodes.filter((code) => code !== REGIONAL && code !== GLOBAL)
  if (codes.length === 1) return countries.of(codes[0] ?? '') ?? ''
  const many = formatMessage(t.catalogue.countries, { count: codes.length })
  if (locationCodes.includes(GLOBAL)) return `${t.catalogue.global}, ${many}`
  return locationCodes.includes(REGIONAL) ? `${t.catalogue.regional}, ${many}` : many
}

const SHOWN_MAX = 2

function summarize(texts: string[]): string {
  const [first = '–'] = texts
  if (texts.length <= SHOWN_MAX) return texts.join(', ') || first
  return formatMessage(t.catalogue.andMore, { first, count: texts.length - 1 })
}

/** On a phone one price and the number of the others. */
function pricesOf({ prices }: PackageRow) {
  const texts = prices.map(({ price, currencyCode }) => formatMoney(price, currencyCode))
  if (texts.length < SHOWN_MAX) return summarize(texts)
  return (
    <>
      <Box component="span" visibleFrom="sm">
        {summarize(texts)}
      </Box>
      <Box component="span" hiddenFrom="sm">
        {texts[0]} +{texts.length - 1}
      </Box>
    </>
  )
}

function packageVolume({ dataType, volume }: PackageRow): string {
  if (volume === null) return t.catalogue.unlimited
  return dataType === 'DAILY'
    ? formatMessage(t.catalogue.perDay, { volume: formatVolume(volume) })
    : formatVolume(volume)
}

/** A package that was not made by a rule stays as it is. */
const RELEASE = {
  label: t.catalogue.release,
  text: t.catalogue.releaseText,
  change: ({ packageCode }: PackageRow) => ({
    method: 'POST' as const,
    path: '/sale-rules/release',
    body: { packageCodes: [packageCode] },
  }),
}

function SaleBulk({ packages, onClear }: { packages: PackageRow[]; onClear(): void }) {
  const sale = (onSale: boolean) => ({
    label: onSale ? t.catalogue.onSale : t.catalogue.offSale,
    skip: (row: PackageRow) => ((row.status === 'ON_SALE') === onSale ? t.statuses[row.status] : undefined),
    change: ({ packageCode }: PackageRow) => ({
      method: 'POST' as const,
      path: '/packages/sale',
      body: { packageCodes: [packageCode], onSale },
    }),
  })
  return (
    <Bulk
      rows={packages}
      idOf={(row) => row.packageCode}
      nameOf={(row) => `${row.packageCode} · ${row.name}`}
      onClear={onClear}
      actions={[sale(true), sale(false), RELEASE]}
    />
  )
}
