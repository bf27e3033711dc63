import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type Buyer, type Catalogue, type CataloguePackage, createCatalogue, type Snapshot } from './catalogue.ts'
import { coverageOf } from './coverage.ts'
import { sandboxPackages } from './demo/demo-packages.ts'
import type { PackageDocument } from './packages/package-document.ts'
import { RESERVED_PREFIX } from './packages/put-packages.ts'
import type { CatalogueChanges } from './snapshot/load-snapshot.ts'

export interface TwinCatalogueDeps {
  live: { db: Db; databaseClock: { now(): number } }
  linkKey: Buffer
  /** Finds the live dealer of a twin. */
  liveIdOf(twinId: string): string
}

/**
 * The catalogue as test twins see it: the live dealers' packages and prices, at every moment, and the sandbox's packages
 * instead of those that an operator may have under their codes. Every request asks for the newest version of the live catalogue,
 * because the version in the twins' own schema never changes.
 */
export function createTwinCatalogue({ live, linkKey, liveIdOf }: TwinCatalogueDeps): Catalogue {
  const catalogue = createCatalogue({ ...live, linkKey, changed: deliveredBySandbox })
  const latest = async () => twinSnapshot(await catalogue.latest(), liveIdOf)
  return { current: latest, latest }
}

/** The catalogue version of a schema in which the catalogue was never changed. */
const UNCHANGED_VERSION = 1n

/** The same snapshot with each twin in the place of its live dealer. */
function twinSnapshot(snapshot: Snapshot, liveIdOf: (twinId: string) => string): Snapshot {
  const live = (buyer: Buyer): Buyer => ({ ...buyer, tenantId: liveIdOf(buyer.tenantId) })
  return {
    version: UNCHANGED_VERSION,
    offer: (buyer, packageCode) => snapshot.offer(live(buyer), packageCode),
    topUpOffer: (buyer, packageCode, esim) => snapshot.topUpOffer(live(buyer), packageCode, esim),
    toppedUpBy: (packageCode) => snapshot.toppedUpBy(packageCode),
    listSource: (buyer) => snapshot.listSource(live(buyer)),
    find: (packageCode) => snapshot.find(packageCode),
    packages: snapshot.packages,
    quotes: (buyer) => snapshot.quotes(live(buyer)),
    tariffOf: (buyer) => snapshot.tariffOf(live(buyer)),
    plan: (planName) => snapshot.plan(planName),
    now: () => snapshot.now(),
  }
}

/**
 * Replaces the products of each package: the sandbox delivers it, whatever it costs at its own supplier. The supplier's name
 * stays, because top-ups fit only eSIMs of the same one, and a twin's supplier offers what the live one offers
 * (suppliers/twin-suppliers.ts).
 */
function deliveredBySandbox(changes: CatalogueChanges, isFirst: boolean): CatalogueChanges {
  const packages = changes.packages
    .filter(({ packageCode }) => !packageCode.startsWith(RESERVED_PREFIX))
    .map((item) => ({ ...item, routes: item.routes.map(({ supplier }) => sandboxRoute(supplier, item.packageCode)) }))
  return { ...changes, packages: isFirst ? [...packages, ...sandboxPackages().map(inEveryCurrency)] : packages }
}

function sandboxRoute(supplier: string, productCode: string) {
  return { supplier, productCode, cost: null, costCurrency: null }
}

/** Before every change of a catalogue, so that no list of changes has it. */
const EVER = 0
/** One whole unit of any currency. */
const PRICE = 10_000n

/** A package of the sandbox, at one unit of every currency. */
function inEveryCurrency({ suppliers, ...document }: PackageDocument): CataloguePackage {
  const { locationCodes, locationNetworkList, status: _, prices: __, volume, ...members } = document
  const times = { firstOnSaleAt: EVER, saleChangedAt: EVER, createdAt: EVER, updatedAt: EVER, touchedAt: EVER }
  return {
    ...members,
    ...times,
    volume: volume === null ? null : BigInt(volume),
    onSale: true,
    everOnSale: true,
    coverage: coverageOf(locationCodes, locationNetworkList),
    prices: Intl.supportedValuesOf('currency').map((currencyCode) => ({
      ...{ currencyCode, price: PRICE, retailPrice: null, removed: false, firstAt: EVER, updatedAt: EVER },
    })),
    routes: suppliers.map(({ supplier, productCode }) => sandboxRoute(supplier, productCode)),
  }
}
