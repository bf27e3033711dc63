import type { PackageOnSale, RtPackage } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { CataloguePackage, EsimToTopUp, Snapshot } from '#catalogue/catalogue.ts'
import type { Deps } from '#deps.ts'
import { findEsimToTopUp } from '#esims/list-fitting-packages.ts'
import { packageCodeOf } from './package-code.ts'
import type { RtCall } from './rt-call.ts'
import type { RtRequest } from './rt-request.ts'

/* Programs of the family top up by the package that was bought, where the dealer API accepts only a TOPUP package. */

type Buyer = RtCall['tenant']

/** The BASE package that a program identifies by packageCode or slug, whether or not it is on sale. */
export function findBase(catalogue: Snapshot, buyer: Buyer, name: unknown): CataloguePackage | undefined {
  if (typeof name !== 'string') return undefined
  const { index } = catalogue.listSource(buyer)
  const position = index.positionOf(name) ?? index.bySlug(name)
  const item = position === undefined ? undefined : index.packages[position]
  return item?.packageType === 'BASE' ? item : undefined
}

/** How a package's eSIMs are topped up: 1 not at all, 2 with a package, 3 with a day pass, whose days the program sends. */
export function topUpTypeOf(
  catalogue: Snapshot,
  buyer: Buyer,
  item: Pick<PackageOnSale, 'packageCode' | 'packageType' | 'periodNumMax' | 'topUpSupported'>,
): RtPackage['supportTopUpType'] {
  const isDayPass = item.periodNumMax !== null
  if (item.packageType === 'TOPUP') return isDayPass ? 3 : 2
  if (!item.topUpSupported) return 1
  const base = isDayPass ? catalogue.find(item.packageCode) : undefined
  if (base === undefined) return 2
  const { index } = catalogue.listSource(buyer)
  const { packageCode } = base
  const isOffered = ({ packageCode: topUp, routes }: CataloguePackage) =>
    routes.some(({ supplier }) => typeof catalogue.topUpOffer(buyer, topUp, { packageCode, supplier }) === 'object')
  const fitting = index.topUpsOf(base).map((position) => index.packages[position]!)
  return fitting.some((topUp) => topUp.periodNumMax !== null && isOffered(topUp)) ? 3 : 2
}

/** The package of a top-up as its program specified it, and its packageCode. Both are undefined if it specified none. */
interface NamedTopUp {
  name: unknown
  packageCode: unknown
}

/**
 * Finds the package of a top-up. A BASE package stands for the TOPUP package with its volume and days that fits the eSIM;
 * days without a name stand for the eSIM's own package. If there is no such package, the name stays, and the order is
 * refused.
 * @throws ApiError 310403 for days without a package if the tenant has no such eSIM
 */
export async function findTopUp(
  deps: Pick<Deps, 'db'>,
  catalogue: Snapshot,
  buyer: Buyer,
  { packageCode, slug, periodNum, esimTranNo, iccid }: RtRequest,
): Promise<NamedTopUp> {
  const name = packageCode ?? slug
  if (name !== undefined && typeof name !== 'string') return { name, packageCode: name }
  const base = findBase(catalogue, buyer, name)
  const member = packageCode === undefined ? 'slug' : 'packageCode'
  const named = name && packageCodeOf(catalogue, buyer, { member, name, type: 'TOPUP' })
  const isUnnamedPass = name === undefined && periodNum !== undefined
  const isEsimNamed = [esimTranNo, iccid].some((one) => typeof one === 'string')
  if ((base === undefined && !isUnnamedPass) || !isEsimNamed) return { name, packageCode: named }
  const esim = await findEsimToTopUp(deps.db, buyer.tenantId, { esimTranNo: textIn(esimTranNo), iccid: textIn(iccid) })
  if (esim === undefined && isUnnamedPass) throw new ApiError('310403')
  if (esim === undefined) return { name, packageCode: named }
  const meant = base ?? catalogue.find(esim.packageCode)
  const fitting = meant && findLike(catalogue, buyer, meant, esim)
  return { name: name ?? esim.packageCode, packageCode: fitting ?? base?.packageCode ?? esim.packageCode }
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The cheapest TOPUP package that fits this eSIM and eSIMs of the BASE package, and has that package's volume and days. */
function findLike(catalogue: Snapshot, buyer: Buyer, base: CataloguePackage, esim: EsimToTopUp): string | undefined {
  const { index } = catalogue.listSource(buyer)
  const isLike = ({ volume, duration, periodNumMax }: CataloguePackage) =>
    volume === base.volume && duration === base.duration && (periodNumMax === null) === (base.periodNumMax === null)
  const offers = index.topUpsOf(base, esim.supplier).flatMap((position) => {
    const topUp = index.packages[position]!
    const offer = isLike(topUp) ? catalogue.topUpOffer(buyer, topUp.packageCode, esim) : undefined
    return typeof offer === 'object' ? [offer] : []
  })
  const [cheapest] = offers.sort(
    (left, right) => Number(left.price - right.price) || (left.packageCode < right.packageCode ? -1 : 1),
  )
  return cheapest?.packageCode
}
