import type { BuyablePackage } from '@dealer-esim/gateway/http/console/orders/place-order.ts'
import { Group, Select } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { Flag } from '#catalogue/flags/flag.tsx'
import { PackageName } from '#catalogue/package-name.tsx'
import { locationOf } from '#catalogue/package-title.ts'
import { useList } from '#lists/use-list.ts'
import { SearchBox } from '#parts/filters.tsx'
import { valueColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { t } from '#strings/strings.ts'
import { BuyDialog } from './buy-dialog.tsx'
import { locationName, sortLocations } from './countries.ts'
import { Coverage, dataText, priceText, validityText } from './package-facts.tsx'

/** Finds packages that the dealer can buy, by country or text. Choosing one opens the dialog that buys it. */
export function PackageSearch({ tenantId, transactionId }: { tenantId: string; transactionId: string }) {
  const [{ locationCode, keyword }, setFilters] = useFilters()
  const [chosen, setChosen] = useState<BuyablePackage>()
  const path = `/tenants/${tenantId}/buyable-packages`
  const locations = useApi<{ locationCodes: string[] }>(`${path}/locations`)
  const list = useList<BuyablePackage>(path, 'packages', { locationCode, keyword })
  const options = sortLocations(locations.data?.locationCodes ?? []).map((value) => ({
    value,
    label: locationName(value),
  }))
  return (
    <>
      <Group>
        <Select
          aria-label={t.portal.country}
          placeholder={t.portal.anyCountry}
          data={options}
          leftSection={locationCode && <Flag locationCode={locationCode} />}
          renderOption={({ option }) => (
            <span>
              <Flag locationCode={option.value} /> {option.label}
            </span>
          )}
          value={locationCode ?? null}
          onChange={(value) => setFilters({ locationCode: value })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t.common.clear }}
          w={{ base: '100%', sm: 260 }}
        />
      </Group>
      <List<BuyablePackage>
        label={t.portal.title}
        list={list}
        name="buyable-packages"
        search={<SearchBox name="keyword" label={t.portal.keyword} />}
        idOf={(row) => row.packageCode}
        onRowClick={setChosen}
        empty={{ title: t.portal.noPackages, text: t.portal.noPackagesText }}
        columns={[
          {
            accessor: 'name',
            title: t.portal.package,
            phone: 'main',
            render: (row) => <PackageName name={row.name} location={locationOf(row.locationCodes)} />,
          },
          valueColumn('locationCodes', t.portal.coverage, (row) => <Coverage {...row} />, { phone: 'note' }),
          { accessor: 'volume', title: t.portal.data, textAlign: 'right', phone: 'status', render: dataText },
          { accessor: 'duration', title: t.portal.validity, textAlign: 'right', render: validityText },
          { accessor: 'price', title: t.portal.price, textAlign: 'right', phone: 'value', render: priceText },
        ]}
      />
      {chosen && (
        <BuyDialog
          tenantId={tenantId}
          transactionId={transactionId}
          chosen={chosen}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}
