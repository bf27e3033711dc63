import type { BuyablePackage, Place } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'
import type { OrderRow } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Button, CloseButton, Group, TextInput } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconClock, IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { Flag } from '#catalogue/flags/flag.tsx'
import { packageTitle } from '#catalogue/package-title.ts'
import { formatAmount } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { placeName, readTyped, searchPlaces, sortPlaces, type Typed } from './place-search.ts'
import { useTabStop } from './tab-stop.ts'

interface PlaceTilesProps {
  places: readonly Place[]
  chosen: string | undefined
  typed: string
  onType(text: string): void
  onChoose(place: string): void
  /** Enter in the field, after the place that it names was chosen. */
  onEnter(): void
}

const TILE_ORDERS = ['recent', 'popular', 'all'] as const
type TileOrder = (typeof TILE_ORDERS)[number]

/** Two rows on a screen. Beside the packages of a place, a phone shows the first six of them. */
const TILES_SHOWN = 12

/** The keyboard of a touch screen would cover the tiles. */
const hasKeyboard = () => !matchMedia('(pointer: coarse)').matches

/** The destination: a search field, and tiles with flags, the latest destinations first. */
export function PlaceTiles({ places, chosen, typed, onType, onChoose, onEnter }: PlaceTilesProps) {
  const [chosenOrder, setOrder] = useState<TileOrder>()
  const tabStop = useTabStop<HTMLDivElement>()
  const isNarrow = useMediaQuery('(max-width: 48em)')
  const { recent, latest, popular } = useLikelyPlaces(places)
  const order = chosenOrder ?? (recent.size > 0 ? 'recent' : 'popular')
  const isAllShown = order === 'all'
  const wanted = readTyped(typed)
  const isSearched = wanted.words.length > 0
  const ordered = { recent: latest, popular, all: sortPlaces(places) }[order]
  const found = isSearched ? searchPlaces(sortPlaces(places), wanted.words) : ordered
  const shown = isAllShown && !isSearched ? found : found.slice(0, TILES_SHOWN)
  return (
    <section className="panel" aria-label={t.portal.places}>
      <h2 className="panel-bar">{t.portal.where}</h2>
      <div className="panel-bar">
        <form
          className="grow"
          onSubmit={(event) => {
            event.preventDefault()
            const [first] = found
            if (isSearched && first) onChoose(first.place)
            onEnter()
          }}
        >
          <TextInput
            type="search"
            aria-label={t.portal.search}
            placeholder={isNarrow ? t.portal.searchShort : t.portal.search}
            leftSection={<IconSearch size={16} aria-hidden="true" />}
            rightSection={
              typed !== '' && <CloseButton size="sm" aria-label={t.common.clear} onClick={() => onType('')} />
            }
            value={typed}
            onChange={(event) => onType(event.currentTarget.value)}
            autoComplete="off"
            autoFocus={hasKeyboard()}
          />
        </form>
        {!isSearched && places.length > TILES_SHOWN && (
          <Group gap={0} role="group" aria-label={t.portal.placesShown} className="places-shown">
            {TILE_ORDERS.map((one) => (
              <Button
                key={one}
                variant={one === order ? 'light' : 'default'}
                aria-pressed={one === order}
                disabled={one === 'recent' && recent.size === 0}
                onClick={() => setOrder(one === order ? undefined : one)}
              >
                {formatMessage(t.portal.placeOrders[one], { count: places.length })}
              </Button>
            ))}
          </Group>
        )}
      </div>
      <div className="tiles" data-all={isAllShown || isSearched || chosen === undefined || undefined} {...tabStop}>
        {shown.map((place) => (
          <button
            key={place.place}
            type="button"
            className="tile"
            aria-pressed={place.place === chosen}
            data-place={place.place}
            onClick={() => onChoose(place.place)}
          >
            <span className="tile-flag">
              <PlaceFlag {...place} />
              {recent.has(place.place) && <IconClock size={14} role="img" aria-label={t.portal.recent} />}
            </span>
            <span>
              <b>{placeName(place)}</b>
              <small>{formatMessage(t.portal.from, { price: formatAmount(place.from, place.currencyCode) })}</small>
            </span>
          </button>
        ))}
      </div>
    </section>
  )
}

export function PlaceFlag({ place, locationCode }: Pick<Place, 'place' | 'locationCode'>) {
  return <Flag locationCode={place === 'Europe' ? 'EU' : locationCode} />
}

/** The cells that a person has named: `Korea 1 GB`. */
export function isNamed(
  { volume, days, isDaily }: Typed,
  offer: Pick<BuyablePackage, 'volume' | 'duration' | 'dataType'>,
): boolean {
  if (volume === undefined && days === undefined) return false
  const isSameKind = (offer.dataType === 'DAILY') === isDaily
  const isVolume = volume === undefined || (isSameKind && offer.volume !== null && nearly(offer.volume, volume))
  return isVolume && (days === undefined || offer.duration === days)
}

/** A wholesaler may count a gigabyte by 1024. */
function nearly(bytes: number, typed: number): boolean {
  return bytes >= typed && bytes < typed * 1.1
}

/**
 * `recent`: places of the latest orders. `latest`: these, then the popular ones. `popular`: those of the most orders among the latest, then
 * those with the most packages.
 */
function useLikelyPlaces(places: readonly Place[]) {
  const { data } = useApi<{ orders: OrderRow[] }>('/orders', { orderType: 'NEW' })
  const known = new Map(places.map((place) => [place.place, place]))
  const bought = (data?.orders ?? []).flatMap(({ location, packages }) => {
    const [first = ''] = packages
    return (location === null || location.startsWith('!') ? packageTitle(first).parts[0] : location) ?? []
  })
  const recent = new Set(bought)
  const ordersTo = ({ place }: Place) => bought.filter((one) => one === place).length
  const popular = [...places].sort((left, right) => ordersTo(right) - ordersTo(left) || right.packages - left.packages)
  const latest = [...new Set([...recent, ...popular.map(({ place }) => place)])].flatMap(
    (place) => known.get(place) ?? [],
  )
  return { recent, latest, popular }
}
