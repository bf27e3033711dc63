import { DATA_TYPES, GLOBAL, PACKAGE_STATUSES, REGIONAL } from '@dealer-esim/contract'
import type { PackageRow } from '@dealer-esim/gateway/console-api/routes/catalogue/catalogue.ts'
import { Button, Group } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { apiUrl } from '../api/call.ts'
import { useApi, useChange } from '../api/use-api.ts'
import { FilterSelect, SearchField, useFilters } from '../parts/filters.tsx'
import { formatBytes, formatMoney } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { notifySuccess } from '../parts/notify.ts'
import { Page } from '../parts/page.tsx'
import { Status } from '../parts/values.tsx'
import { PLANS } from '../prices/paths.ts'
import { canOperate, useSession } from '../session/session.ts'
import { interpolate, locale, plural, t } from '../strings/strings.ts'

export function CataloguePage() {
  const me = useSession()
  const navigate = useNavigate()
  const [filters, setFilters] = useFilters()
  const { keyword, status, dataType, cursor } = filters
  const locationCode = /^([A-Z]{2}|!RG|!GL)$/.test(filters.locationCode?.toUpperCase() ?? '')
    ? filters.locationCode?.toUpperCase()
    : undefined
  const query = { keyword, locationCode, status, dataType }
  const list = useApi<{ packages: PackageRow[]; nextCursor: string | null }>('/packages', { ...query, cursor })
  const [selected, setSelected] = useState<string[]>([])
  const importButton = canOperate(me) && (
    <Button onClick={() => void navigate({ to: '/catalogue/import' })}>{t.catalogue.import}</Button>
  )
  const filtered = Object.keys(filters).length > 0
  return (
    <Page
      title={t.catalogue.title}
      actions={
        <>
          <Button component={Link} to={PLANS} variant="default">
            {t.prices.title}
          </Button>
          <Button component="a" href={apiUrl('/packages.csv', query).href} download variant="default">
            {t.catalogue.export}
          </Button>
          {importButton}
        </>
      }
    >
      <Group>
        <SearchField
          label={t.catalogue.search}
          value={keyword ?? ''}
          onChange={(value) => setFilters({ keyword: value })}
        />
        <SearchField
          label={t.catalogue.location}
          value={filters.locationCode ?? ''}
          onChange={(value) => setFilters({ locationCode: value })}
          w={230}
        />
        <FilterSelect name="status" label={t.catalogue.status} values={PACKAGE_STATUSES} labels={t.statuses} />
        <FilterSelect name="dataType" label={t.catalogue.dataType} values={DATA_TYPES} labels={t.catalogue.dataTypes} />
        {selected.length > 0 && <SaleButtons selected={selected} onDone={() => setSelected([])} />}
      </Group>
      <List<PackageRow>
        label={t.catalogue.title}
        rows={list.data?.packages}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.packageCode}
        {...(canOperate(me) && { selected, onSelect: setSelected })}
        empty={
          filtered
            ? { title: t.catalogue.noMatch, text: t.catalogue.noMatchText }
            : { title: t.catalogue.noPackages, text: t.catalogue.noPackagesText, action: importButton }
        }
        columns={[
          { accessor: 'packageCode', title: t.catalogue.code, cellsClassName: 'mono' },
          { accessor: 'name', title: t.catalogue.name },
          { accessor: 'status', title: t.catalogue.status, render: (row) => <Status status={saleStatus(row)} /> },
          { accessor: 'volume', title: t.catalogue.volume, textAlign: 'right', render: formatVolume },
          { accessor: 'duration', title: t.catalogue.duration, textAlign: 'right' },
          {
            accessor: 'locationCodes',
            title: t.catalogue.coverage,
            render: (row) => formatCountries(row.locationCodes),
          },
          {
            accessor: 'prices',
            title: t.catalogue.prices,
            textAlign: 'right',
            render: (row) => summarize(row.prices.map((price) => formatMoney(price.price, price.currencyCode))),
          },
          {
            accessor: 'suppliers',
            title: t.catalogue.suppliers,
            render: (row) => summarize(row.suppliers.map((one) => one.supplier)),
          },
        ]}
      />
    </Page>
  )
}

/** A package that is on sale is not sold while none of its suppliers has money. */
function saleStatus({ status, lacksMoney }: PackageRow): string {
  return lacksMoney && status === 'ON_SALE' ? 'NO_MONEY' : status
}

const countries = new Intl.DisplayNames(locale, { type: 'region' })

/** The name of one country, or the number of countries. */
function formatCountries(locationCodes: string[]): string {
  const codes = locationCodes.filter((code) => code !== REGIONAL && code !== GLOBAL)
  if (codes.length === 1) return countries.of(codes[0] ?? '') ?? ''
  const many = plural(t.catalogue.countries, codes.length)
  if (locationCodes.includes(GLOBAL)) return `${t.catalogue.global}, ${many}`
  return locationCodes.includes(REGIONAL) ? `${t.catalogue.regional}, ${many}` : many
}

const SHOWN_MAX = 2

function summarize(texts: string[]): string {
  const [first = '–'] = texts
  if (texts.length <= SHOWN_MAX) return texts.join(', ') || first
  return interpolate(t.catalogue.andMore, { first, count: texts.length - 1 })
}

function formatVolume({ dataType, volume }: PackageRow): string {
  if (volume === null) return t.catalogue.unlimited
  return dataType === 'DAILY' ? interpolate(t.catalogue.perDay, { volume: formatBytes(volume) }) : formatBytes(volume)
}

function SaleButtons({ selected, onDone }: { selected: string[]; onDone(): void }) {
  const sale = useChange<{ changed: string[] }>()
  const set = (onSale: boolean) =>
    sale.mutate(
      { method: 'POST', path: '/packages/sale', body: { packageCodes: selected, onSale } },
      {
        onSuccess({ changed }) {
          notifySuccess(interpolate(t.catalogue.updated, { count: changed.length }))
          onDone()
        },
      },
    )
  return (
    <Group gap="xs">
      {interpolate(t.catalogue.selected, { count: selected.length })}
      <Button size="xs" variant="default" loading={sale.isPending} onClick={() => set(true)}>
        {t.catalogue.onSale}
      </Button>
      <Button size="xs" variant="default" loading={sale.isPending} onClick={() => set(false)}>
        {t.catalogue.offSale}
      </Button>
    </Group>
  )
}
