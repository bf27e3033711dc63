import type { BuyablePackage, Place } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'
import { Paper } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { EmptyState, Loading, LoadState } from '#parts/load-states.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { t } from '#strings/strings.ts'
import { Cart, type CartProps } from './cart.tsx'
import { OfferChoice, OfferList } from './offer-choice.tsx'
import { type PurchaseLine, toggleOffer } from './offers.ts'
import { readTyped, searchPlaces } from './place-search.ts'
import { PlaceTiles } from './place-tiles.tsx'
import { useFocusEntered } from './tab-stop.ts'

/** Place, then data and days, then the purchase, which stays in view. */
export function ChoosePackages(props: Pick<CartProps, 'tenantId' | 'transactionId' | 'onBuy' | 'onFailure'>) {
  const { tenantId } = props
  const [{ place: chosen }, setFilters] = useFilters()
  const [typed, setTyped] = useState('')
  const [lines, setLines] = useState<PurchaseLine[]>([])
  const [entered, setEntered] = useState(0)
  const path = `/tenants/${tenantId}/buyable-packages/places`
  const { data, error, refetch } = useApi<{ places: Place[]; isMailPossible: boolean }>(path)
  if (!data) return <LoadState error={error} retry={refetch} />
  if (data.places.length === 0)
    return (
      <Paper withBorder>
        <EmptyState title={t.portal.noPackages} text={t.portal.noPackagesText} />
      </Paper>
    )
  const place = data.places.find((one) => one.place === chosen)
  const named = readTyped(typed)
  const isUnknown = named.words.length > 0 && searchPlaces(data.places, named.words).length === 0
  const codes = new Set(lines.map(({ offer }) => offer.packageCode))
  const toggle = (offer: BuyablePackage) => setLines((known) => toggleOffer(known, offer))
  return (
    <div className="buying">
      <div className="buying-choice">
        <PlaceTiles
          places={data.places}
          chosen={place?.place}
          typed={typed}
          onType={setTyped}
          onChoose={(next) => setFilters({ place: next })}
          onEnter={() => setEntered(entered + 1)}
        />
        {isUnknown && <ByKeyword {...{ tenantId, typed, named, entered }} chosen={codes} onToggle={toggle} />}
        {place && !isUnknown && (
          <OfferChoice key={place.place} {...{ tenantId, place, named, entered }} chosen={codes} onToggle={toggle} />
        )}
      </div>
      <Cart {...props} lines={lines} isMailPossible={data.isMailPossible} onChange={setLines} />
    </div>
  )
}

/** The typed text is not a place: perhaps it is the name or the code of a package. */
function ByKeyword(
  props: Omit<Parameters<typeof OfferList>[0], 'offers'> & { tenantId: string; typed: string; entered: number },
) {
  const { tenantId, typed, entered, ...cell } = props
  const { data } = useApi<{ packages: BuyablePackage[] }>(`/tenants/${tenantId}/buyable-packages`, { keyword: typed })
  const section = useFocusEntered(entered, data !== undefined)
  if (!data) return <Loading />
  return (
    <section className="panel" aria-label={t.portal.found} ref={section}>
      {data.packages.length === 0 && <EmptyState title={t.portal.noMatch} text={t.portal.noMatchText} />}
      <OfferList offers={data.packages} {...cell} />
    </section>
  )
}
