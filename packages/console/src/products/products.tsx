import type { SupplierProductRow, SupplierSync } from '@dealer-esim/gateway/http/console/products/products.ts'
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { isFiltered, useList } from '#lists/use-list.ts'
import { SearchBox, useFilterKinds } from '#parts/filters.tsx'
import { formatVolume } from '#parts/format.ts'
import { relativeTimeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Amount } from '#parts/values.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage, locale } from '#strings/strings.ts'
import { ADD_SUPPLIER } from '#suppliers/supplier-paths.ts'
import { CostHistory } from './cost-history.tsx'
import { CatalogueStates, useSyncs } from './sync-card.tsx'

/** The products in the suppliers' catalogues, and when each catalogue was read. */
export function ProductsPage() {
  const me = useSession()
  const [filters] = useFilters()
  const { choice, typed } = useFilterKinds()
  const { supplier, keyword, packageType, sold, listed } = filters
  const country = /^[A-Z]{2}$/.test(filters.country?.toUpperCase() ?? '') ? filters.country?.toUpperCase() : undefined
  const query = {
    ...{ supplier, keyword, country, packageType },
    isSold: sold && sold === 'YES',
    isListed: listed === 'NO' ? false : undefined,
  }
  const list = useList<SupplierProductRow>('/supplier-products', 'products', query)
  const syncs = useSyncs()?.syncs
  const [shown, setShown] = useState<SupplierProductRow>()
  const suppliers = (syncs ?? []).map((sync) => sync.supplier)
  const { types, yesNo } = t.products
  const choices = [
    typed('country', t.products.country),
    choice({ name: 'supplier', label: t.products.supplier, values: suppliers, labels: {} }),
    choice({ name: 'packageType', label: t.products.type, values: Object.keys(types), labels: types }),
    choice({ name: 'sold', label: t.products.sold, values: ['YES', 'NO'], labels: yesNo }),
    choice({ name: 'listed', label: t.products.listed, values: ['NO'], labels: yesNo }),
  ]
  const addSupplier = isOperatorAdmin(me) && (
    <Button component={Link} to={ADD_SUPPLIER} variant="default">
      {t.suppliers.add}
    </Button>
  )
  return (
    <Page title={t.products.title}>
      {syncs?.length !== 0 && <CatalogueStates syncs={syncs ?? []} />}
      <List<SupplierProductRow>
        label={t.products.title}
        list={list}
        name="supplier-products"
        search={<SearchBox name="keyword" label={t.products.search} />}
        filters={choices}
        idOf={(row) => `${row.supplier} ${row.productCode}`}
        onRowClick={setShown}
        empty={
          isFiltered(filters)
            ? { title: t.products.noMatch, text: t.products.noMatchText }
            : emptyText(syncs, addSupplier)
        }
        columns={[
          { accessor: 'productCode', title: t.products.code, cellsClassName: 'mono', phone: 'main' },
          { accessor: 'supplier', title: t.products.supplier, phone: 'status', width: 100 },
          { accessor: 'name', title: t.products.name, phone: 'note', width: 150 },
          { accessor: 'countries', title: t.products.coverage, width: 120, render: (row) => placesText(row.countries) },
          { accessor: 'volume', title: t.products.data, textAlign: 'right', width: 95, render: dataText },
          {
            accessor: 'durationDays',
            title: t.products.days,
            textAlign: 'right',
            width: 85,
            render: (row) => (row.isDayPass ? t.products.dayPass : row.durationDays),
          },
          {
            accessor: 'cost',
            title: t.products.cost,
            textAlign: 'right',
            phone: 'value',
            width: 110,
            currency: (row) => row.currencyCode,
            render: (row) =>
              row.isListed ? <Amount value={row.cost} currency={row.currencyCode} /> : t.products.notListed,
          },
          relativeTimeColumn('changedAt', t.products.since),
          valueColumn('packageCodes', t.products.packages, (row) => soldText(row.packageCodes), {
            cellsClassName: 'mono',
            width: 140,
          }),
        ]}
      />
      {shown && <CostHistory product={shown} onClose={() => setShown(undefined)} />}
    </Page>
  )
}

/** Why there are no products: no supplier has a catalogue, none has been read yet, or those read were empty. */
function emptyText(syncs: readonly SupplierSync[] | undefined, addSupplier: ReactNode) {
  const title = t.products.none
  if (syncs === undefined || syncs.length === 0) return { title, text: t.products.noneText, action: addSupplier }
  if (syncs.some(({ isRunning }) => isRunning)) return { title, text: t.products.noneWhileReading }
  return { title, text: syncs.every(({ outcome }) => outcome === 'DONE') ? t.products.noneListed : t.products.noneRead }
}

const countryNames = new Intl.DisplayNames(locale, { type: 'region' })

/** A region whose supplier does not list its countries: `!RG-Western Europe`. */
const REGION = '!RG-'
const isRegion = (code: string) => code.startsWith(REGION)

function placesText(countries: string[]): string {
  if (countries.length > 0 && countries.every(isRegion))
    return countries.map((code) => code.slice(REGION.length)).join(', ')
  if (countries.length === 1) return countryNames.of(countries[0] ?? '') ?? ''
  return formatMessage(t.catalogue.countries, { count: countries.length })
}

function dataText({ volume, isDayPass }: SupplierProductRow): string {
  if (volume === null) return t.catalogue.unlimited
  const size = formatVolume(volume)
  return isDayPass ? formatMessage(t.catalogue.perDay, { volume: size }) : size
}

function soldText(packageCodes: string[]): string {
  const [first = '–'] = packageCodes
  if (packageCodes.length < 2) return first
  return formatMessage(t.catalogue.andMore, { first, count: packageCodes.length - 1 })
}
