import type { BuyablePackage, Place } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'
import { Button, Group, NativeSelect, VisuallyHidden } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { packageTitleText } from '#catalogue/package-title.ts'
import { formatAmount, formatMoney } from '#parts/format.ts'
import { LoadState } from '#parts/load-states.tsx'
import { Hint } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { gridOf, marginOf, OFFER_SORTS, type OfferSort, sortOffers } from './offers.ts'
import { Coverage, dataText, validityText } from './package-facts.tsx'
import { placeName, type Typed } from './place-search.ts'
import { isNamed, PlaceFlag } from './place-tiles.tsx'
import { useFocusEntered, useTabStop } from './tab-stop.ts'

interface OfferChoiceProps {
  tenantId: string
  place: Place
  named: Typed
  /** The codes of the packages in the purchase. */
  chosen: ReadonlySet<string>
  /** How often the person has entered a place: each time, the focus moves to its packages. */
  entered: number
  onToggle(offer: BuyablePackage): void
}

const GRID = 'grid'
const NARROW_COLUMNS_MAX = 5
const CELL_MAX = 2

/**
 * The packages for a place as a grid of data and days, with price and margin; packages of regions that include it are
 * beside the grid.
 */
export function OfferChoice({ tenantId, place, named, chosen, entered, onToggle }: OfferChoiceProps) {
  const [isWide, setIsWide] = useState(false)
  const [chosenSort, setSort] = useState<OfferSort | typeof GRID>()
  const isNarrow = useMediaQuery('(max-width: 48em)')
  const path = `/tenants/${tenantId}/buyable-packages/at`
  const { data, error, refetch } = useApi<{ packages: BuyablePackage[] }>(path, { place: place.place })
  const section = useFocusEntered(entered, data !== undefined)
  if (!data) return <LoadState error={error} retry={refetch} />
  const [own, wide] = [true, false].map((isOwn) => data.packages.filter((one) => (one.place === place.place) === isOwn))
  const isWideShown = own!.length === 0 || (isWide && wide!.length > 0)
  const shown = isWideShown ? wide! : own!
  const cell = { named, chosen, onToggle }
  const regions = [...new Set(shown.map((one) => one.place))]
  const grids = regions.map((region) => gridOf(shown.filter((one) => one.place === region)))
  const columns = Math.max(...grids.map((grid) => grid.columns.length))
  const fullest = Math.max(...grids.flatMap(({ rows }) => rows.flatMap(({ cells }) => cells.map((one) => one.length))))
  // On a phone a wide grid would hide its last prices. Several packages of one cell need their names.
  const isCut = isNarrow ? columns > NARROW_COLUMNS_MAX || fullest > 1 : fullest > CELL_MAX
  const hasGrid = columns > 1
  const otherwise = hasGrid && !isCut ? GRID : 'price'
  const sort = chosenSort === undefined || (chosenSort === GRID && !hasGrid) ? otherwise : chosenSort
  return (
    <section
      className="panel"
      aria-label={formatMessage(t.portal.packagesFor, { place: placeName(place) })}
      ref={section}
    >
      <div className="panel-bar">
        <PlaceFlag {...place} />
        <h2 className="grow">{placeName(place)}</h2>
        {own!.length > 0 && wide!.length > 0 && (
          <Group gap={0} role="group" aria-label={t.portal.coverage}>
            <Button
              variant={isWideShown ? 'default' : 'light'}
              aria-pressed={!isWideShown}
              onClick={() => setIsWide(false)}
            >
              {formatMessage(t.portal.onlyHere, { place: placeName(place) })}
            </Button>
            <Button
              variant={isWideShown ? 'light' : 'default'}
              aria-pressed={isWideShown}
              onClick={() => setIsWide(true)}
            >
              {formatMessage(t.portal.regions, { count: new Set(wide!.map((one) => one.place)).size })}
            </Button>
          </Group>
        )}
        <NativeSelect
          aria-label={t.portal.order}
          value={sort}
          data={[
            ...(hasGrid ? [{ value: GRID, label: t.portal.asGrid }] : []),
            ...OFFER_SORTS.map((value) => ({ value, label: t.portal.sorts[value] })),
          ]}
          onChange={(event) => setSort(event.currentTarget.value as OfferSort | typeof GRID)}
        />
      </div>
      {sort !== GRID ? (
        <OfferList offers={sortOffers(shown, sort)} {...cell} />
      ) : (
        regions.map((region) => (
          <div key={region} className="panel-part">
            {region !== place.place && <h3>{placeName({ place: region })}</h3>}
            <Grid offers={shown.filter((one) => one.place === region)} {...cell} />
          </div>
        ))
      )}
      {sort === GRID && shown.some((offer) => marginOf(offer) !== null) && (
        <div className="panel-part">
          <Hint size="xs">{t.portal.priceText}</Hint>
        </div>
      )}
    </section>
  )
}

interface CellProps extends Pick<OfferChoiceProps, 'named' | 'chosen' | 'onToggle'> {
  offers: readonly BuyablePackage[]
}

function Grid({ offers, ...cell }: CellProps) {
  const { columns, rows } = gridOf(offers)
  const tabStop = useTabStop<HTMLDivElement>()
  return (
    <div className="prices-frame" {...tabStop}>
      <table className="prices">
        <caption className="sr">{t.portal.gridCaption}</caption>
        <thead>
          <tr>
            <th scope="col">{offers[0]?.currencyCode}</th>
            {columns.map((column) => (
              <th key={dataText(column)} scope="col">
                {dataText(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ first, cells }) => (
            <tr key={validityText(first)}>
              <th scope="row">{validityText(first)}</th>
              {cells.map((found, index) => (
                <td key={dataText(columns[index]!)}>
                  {found.length === 0 && (
                    <span className="no-price">
                      <span aria-hidden="true">–</span>
                      <span className="sr">{t.portal.notSold}</span>
                    </span>
                  )}
                  {found.map((offer) => (
                    <Price key={offer.packageCode} offer={offer} isOneOfSeveral={found.length > 1} {...cell} />
                  ))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A price to press. Its name says everything that its place in the grid says to the eye. */
function Price(props: Omit<CellProps, 'offers'> & { offer: BuyablePackage; isOneOfSeveral: boolean }) {
  const { offer, isOneOfSeveral, named, chosen, onToggle } = props
  const { packageCode, price, currencyCode } = offer
  const margin = marginOf(offer)
  const [amount, earned] = [price, margin ?? 0].map((value) => formatAmount(value, currencyCode))
  const difference = isOneOfSeveral ? (offer.speed ?? packageTitleText(offer.name)) : undefined
  const name = [offerText(offer), ...(difference === undefined ? [] : [difference])].join(', ')
  return (
    <button
      type="button"
      className="price"
      aria-pressed={chosen.has(packageCode)}
      title={name}
      data-offer={packageCode}
      data-named={isNamed(named, offer) || undefined}
      onClick={() => onToggle(offer)}
    >
      <VisuallyHidden>{name}</VisuallyHidden>
      <b aria-hidden>{amount}</b>
      {margin !== null && <small aria-hidden>{`+${earned}`}</small>}
      {difference !== undefined && <small aria-hidden>{difference}</small>}
    </button>
  )
}

/** `Japan · 5 GB · 3 days, USD 2.99, retail price USD 4.90, you earn USD 1.91`. */
function offerText(offer: BuyablePackage): string {
  const { name, price, retailPrice, currencyCode, periodNumMin } = offer
  const margin = marginOf(offer)
  const amount = formatMoney(price, currencyCode)
  return [
    packageTitleText(name),
    periodNumMin === null ? amount : formatMessage(t.portal.pricePerDay, { price: amount }),
    ...(retailPrice === null || margin === null
      ? []
      : [
          formatMessage(t.portal.retailOf, { price: formatMoney(retailPrice, currencyCode) }),
          formatMessage(t.portal.youEarn, { amount: formatMoney(margin, currencyCode) }),
        ]),
  ].join(', ')
}

/** The same packages as rows that can be sorted. */
export function OfferList({ offers, chosen, named, onToggle }: CellProps) {
  const tabStop = useTabStop<HTMLUListElement>()
  return (
    <ul className="offers" {...tabStop}>
      {offers.map((offer) => (
        <li key={offer.packageCode}>
          <button
            type="button"
            className="offer"
            aria-pressed={chosen.has(offer.packageCode)}
            data-offer={offer.packageCode}
            data-named={isNamed(named, offer) || undefined}
            onClick={() => onToggle(offer)}
          >
            <VisuallyHidden>{offerText(offer)}</VisuallyHidden>
            <PlaceFlag
              place={offer.place}
              locationCode={offer.locationCodes.length === 1 ? offer.locationCodes[0]! : '!RG'}
            />
            <span className="grow" aria-hidden>
              <b>{packageTitleText(offer.name)}</b>
              {offer.locationCodes.length > 1 && (
                <small>
                  <Coverage {...offer} />
                </small>
              )}
            </span>
            <span className="offer-prices" aria-hidden>
              <b>{formatMoney(offer.price, offer.currencyCode)}</b>
              {offer.retailPrice !== null && (
                <small>
                  {formatMessage(t.portal.retailOf, { price: formatMoney(offer.retailPrice, offer.currencyCode) })}
                </small>
              )}
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}
