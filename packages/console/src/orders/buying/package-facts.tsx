import type { BuyablePackage } from '@dealer-esim/gateway/http/console/orders/place-order.ts'
import { Text } from '@mantine/core'
import { Flag } from '#catalogue/flags/flag.tsx'
import { formatMoney, formatVolume } from '#parts/format.ts'
import { interpolate, plural, t } from '#strings/strings.ts'
import { locationName, sortLocations } from './countries.ts'

const COUNTRIES_SHOWN = 3

/** The first countries of a package with their flags, and how many more there are. */
export function Coverage({ locationCodes }: Pick<BuyablePackage, 'locationCodes'>) {
  const sorted = sortLocations(locationCodes)
  const shown = sorted.length === COUNTRIES_SHOWN + 1 ? sorted : sorted.slice(0, COUNTRIES_SHOWN)
  const more = sorted.length - shown.length
  return (
    <Text size="sm" component="span" title={sorted.map(locationName).join(', ')}>
      {shown.map((code) => (
        <span key={code} className="location">
          <Flag locationCode={code} /> {locationName(code)}{' '}
        </span>
      ))}
      {more > 0 && interpolate(t.portal.moreCountries, { count: more })}
    </Text>
  )
}

export function dataText({ dataType, volume }: Pick<BuyablePackage, 'dataType' | 'volume'>): string {
  if (volume === null) return t.portal.unlimited
  const text = formatVolume(volume)
  return dataType === 'DAILY' ? interpolate(t.portal.dataPerDay, { volume: text }) : text
}

export function validityText({ duration, periodNumMin: min, periodNumMax: max }: BuyablePackage): string {
  if (min === null || max === null) return plural(t.esims.days, duration)
  return interpolate(t.portal.anyDays, { min, max })
}

export function priceText({ price, currencyCode, periodNumMin }: BuyablePackage): string {
  const text = formatMoney(price, currencyCode)
  return periodNumMin === null ? text : interpolate(t.portal.pricePerDay, { price: text })
}
