import type { BuyablePackage } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'
import { formatVolume } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { locationName, sortLocations } from './countries.ts'

const COUNTRIES_SHOWN = 3

/** The package's first countries, and the number of others. */
export function Coverage({ locationCodes }: Pick<BuyablePackage, 'locationCodes'>) {
  const sorted = sortLocations(locationCodes)
  const shown = sorted.length === COUNTRIES_SHOWN + 1 ? sorted : sorted.slice(0, COUNTRIES_SHOWN)
  const more = sorted.length - shown.length
  return (
    <span title={sorted.map(locationName).join(', ')}>
      {shown.map(locationName).join(', ')} {more > 0 && formatMessage(t.portal.moreCountries, { count: more })}
    </span>
  )
}

export function dataText({ dataType, volume }: Pick<BuyablePackage, 'dataType' | 'volume'>): string {
  if (volume === null) return t.portal.unlimited
  const text = formatVolume(volume)
  return dataType === 'DAILY' ? formatMessage(t.portal.dataPerDay, { volume: text }) : text
}

export function validityText({ duration, periodNumMin: min, periodNumMax: max }: BuyablePackage): string {
  if (min === null || max === null) return formatMessage(t.esims.days, { count: duration })
  return formatMessage(t.portal.anyDays, { min, max })
}
