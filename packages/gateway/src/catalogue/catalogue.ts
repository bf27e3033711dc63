import type { CancelPolicy, PackageType } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { Coverage } from './coverage.ts'
import { Plan, type PlanRuleRow } from './prices/plan-rules.ts'
import { type Assignment, type OwnPrice, type Quote, quote, type Tariff, tariffOf } from './prices/quote.ts'
import type { CatalogueChanges, OwnPriceRow } from './snapshot/load-snapshot.ts'
import { loadChanges } from './snapshot/load-snapshot.ts'
import { PackageIndex, Prefilter } from './snapshot/package-index.ts'
import type { CataloguePackage, Route } from './snapshot/snapshot-package.ts'
import { type EsimToTopUp, fitsEsim } from './topup-fit.ts'

export type { CataloguePackage, Route } from './snapshot/snapshot-package.ts'
export type { EsimToTopUp } from './topup-fit.ts'

/** The catalogue in memory, as immutable snapshots of one version each. */
export interface Catalogue {
  /** A snapshot of this version or a later one. Loads the changes if the current one is older. */
  current(version: bigint): Promise<Snapshot>
  /** The newest snapshot, after querying the database for its version. */
  latest(): Promise<Snapshot>
}

interface CatalogueDeps extends SnapshotContext {
  db: Db
  /** What is loaded instead of these changes; `isFirst`: nothing was loaded before. */
  changed?(changes: CatalogueChanges, isFirst: boolean): CatalogueChanges
}

export function createCatalogue(deps: CatalogueDeps): Catalogue {
  let snapshot = LoadedSnapshot.empty(deps)
  let loading: Promise<void> | undefined

  async function load(): Promise<void> {
    try {
      const changes = await loadChanges(deps.db, snapshot.changedAt, snapshot.coverages)
      snapshot = snapshot.with(deps.changed?.(changes, snapshot.version === 0n) ?? changes)
    } finally {
      loading = undefined
    }
  }

  async function current(version: bigint): Promise<Snapshot> {
    // A load in progress may have begun before that version was created, so a second one may be needed.
    for (let loads = 0; snapshot.version < version; loads++) {
      if (loads === LOADS_MAX) throw new Error(`the database has no version ${version} of the catalogue`)
      loading ??= load()
      await loading
    }
    return snapshot
  }

  return {
    current,
    async latest() {
      const [row] = await deps.db.query<{ version: bigint }>({
        name: 'catalogue_version',
        text: 'select version from catalogue_version',
      })
      return current(row!.version)
    },
  }
}

/** At most two: the load in progress, and one that begins after the version was requested. */
const LOADS_MAX = 2

/** @throws Refusal if the tenant does not exist */
export async function getBuyer(db: Db, typedId: string): Promise<Buyer> {
  const tenantId = requireUuid(typedId, 'tenant')
  const [row] = await db.query<{ currencyCode: string }>(sql`
    select currency_code from tenants where tenant_id = ${tenantId}`)
  if (!row) throw notFound('tenant', tenantId)
  return { tenantId, currencyCode: row.currencyCode }
}

/** A tenant whose prices are requested. */
export interface Buyer {
  readonly tenantId: string
  readonly currencyCode: string
}

/** A package that the buyer may buy now, as orders use it. */
export interface Offer {
  readonly packageCode: string
  readonly packageName: string
  readonly packageType: PackageType
  /** Days of a day pass; both null if the duration is fixed. */
  readonly periodNumMin: number | null
  readonly periodNumMax: number | null
  readonly cancelPolicy: CancelPolicy
  /** For one eSIM (for a day pass: per day), in 1/10 000 of the buyer's currency. */
  readonly price: bigint
  /** Tried in this order; the next one only after a definite refusal. */
  readonly routes: readonly Route[]
}

/** One complete, immutable version of the catalogue. */
export interface Snapshot {
  readonly version: bigint
  /** An offer, or the code of the refusal: unknown to this buyer, or off sale. */
  offer(buyer: Buyer, packageCode: string): Offer | '310241' | '310244'
  /**
   * Like `offer`, but for a package to add to an eSIM. 310245: the package does not fit the eSIM. The offer's only route is
   * the eSIM's supplier.
   */
  topUpOffer(buyer: Buyer, packageCode: string, esim: EsimToTopUp): Offer | '310241' | '310244' | '310245'
  /**
   * Lists the eSIMs that a package can be added to, by the rules of `topUpOffer`. May omit eSIMs whose supplier no longer
   * supplies their package.
   */
  toppedUpBy(packageCode: string): readonly EsimToTopUp[]
  /** The source from which snapshot/list.ts lists the packages that the buyer may buy. */
  listSource(buyer: Buyer): ListSource
  /** The package as operators and the fulfilment of existing orders see it, independent of the buyer. */
  find(packageCode: string): CataloguePackage | undefined
  /** Every package, whether on sale or not: for operators. */
  readonly packages: readonly CataloguePackage[]
  /** The buyer's price for every package that has one, with its source: for operators. */
  quotes(buyer: Buyer): Iterable<QuotedPackage>
  /** The plans and own prices that decide what the buyer pays. */
  tariffOf(buyer: Buyer): Tariff
  /** A plan's rules; empty if there is no such plan. */
  plan(planName: string): Plan
  /**
   * The database's time (ms), by which plan rules begin and end. Never earlier than the time at which this version was
   * created.
   */
  now(): number
}

export interface QuotedPackage {
  readonly item: CataloguePackage
  readonly quote: Quote & { readonly price: bigint }
}

/** The parts of a snapshot from which a buyer's lists are made. */
export interface ListSource {
  readonly index: PackageIndex
  /** By position: when the package or its price for any tenant last changed (ms). */
  readonly touchedAt: Float64Array
  /** By position: 1 if the list or a plan has, or had, a price in the buyer's currency. */
  readonly priced: Uint8Array
  /** When this version of the catalogue was created (ms). */
  readonly changedAt: number
  readonly tariff: Tariff
  /** As `Snapshot.now`. */
  readonly now: number
  readonly linkKey: Buffer
}

export interface SnapshotContext {
  /** The key that authenticates cursors. */
  readonly linkKey: Buffer
  readonly databaseClock: { now(): number }
}

interface Contents {
  readonly version: bigint
  readonly changedAt: number
  readonly index: PackageIndex
  readonly coverages: ReadonlyMap<string, Coverage>
  readonly plans: ReadonlyMap<string, Plan>
  readonly tenantPlans: ReadonlyMap<string, readonly Assignment[]>
  readonly tenantGroups: ReadonlyMap<string, readonly Assignment[]>
  readonly groupPlans: ReadonlyMap<string, readonly Assignment[]>
  readonly ownPrices: ReadonlyMap<string, ReadonlyMap<string, OwnPrice>>
}

const NOTHING: Contents = {
  version: 0n,
  changedAt: Number.NEGATIVE_INFINITY,
  index: PackageIndex.empty,
  coverages: new Map(),
  plans: new Map(),
  tenantPlans: new Map(),
  tenantGroups: new Map(),
  groupPlans: new Map(),
  ownPrices: new Map(),
}

/** A snapshot. A later one is made from it by loading only the changes. */
export class LoadedSnapshot implements Snapshot {
  readonly #context: SnapshotContext
  readonly #contents: Contents
  readonly #prefilter: Prefilter
  readonly #tariffs = new Map<string, Tariff>()
  readonly #toppedUp = new Map<string, readonly EsimToTopUp[]>()

  private constructor(context: SnapshotContext, contents: Contents, prefilter: Prefilter) {
    this.#context = context
    this.#contents = contents
    this.#prefilter = prefilter
  }

  static empty(context: SnapshotContext): LoadedSnapshot {
    return new LoadedSnapshot(context, NOTHING, Prefilter.from(NOTHING))
  }

  get version(): bigint {
    return this.#contents.version
  }

  get changedAt(): number {
    return this.#contents.changedAt
  }

  get coverages(): ReadonlyMap<string, Coverage> {
    return this.#contents.coverages
  }

  with(changes: CatalogueChanges): LoadedSnapshot {
    const now = this.#contents
    const contents: Contents = {
      version: changes.version,
      changedAt: changes.changedAt,
      index: now.index.with(changes.packages),
      coverages: changes.coverages,
      plans: withRules(now.plans, changes.planRules),
      tenantPlans: withAssignments(now.tenantPlans, changes.tenantPlans),
      tenantGroups: withAssignments(now.tenantGroups, changes.tenantGroups),
      groupPlans: withAssignments(now.groupPlans, changes.groupPlans),
      ownPrices: withOwnPrices(now.ownPrices, changes.ownPrices),
    }
    return new LoadedSnapshot(this.#context, contents, this.#prefilter.with(contents, changes))
  }

  find(packageCode: string): CataloguePackage | undefined {
    const position = this.#contents.index.positionOf(packageCode)
    return position === undefined ? undefined : this.#contents.index.packages[position]
  }

  offer(buyer: Buyer, packageCode: string): Offer | '310241' | '310244' {
    const item = this.find(packageCode)
    return item?.packageType === 'BASE' ? this.#offerOf(buyer, item) : '310241'
  }

  topUpOffer(buyer: Buyer, packageCode: string, esim: EsimToTopUp): Offer | '310241' | '310244' | '310245' {
    const item = this.find(packageCode)
    if (!item) return '310241'
    const route = item.routes.find(({ supplier }) => supplier === esim.supplier)
    const offer = this.#offerOf(buyer, item, route ? [route] : [])
    if (typeof offer === 'string') return offer
    const base = this.find(esim.packageCode)
    return base && fitsEsim(item, base, esim.supplier) ? offer : '310245'
  }

  toppedUpBy(packageCode: string): readonly EsimToTopUp[] {
    const known = this.#toppedUp.get(packageCode)
    if (known) return known
    const topUp = this.find(packageCode)
    if (!topUp) return []
    const suppliers = [...new Set(topUp.routes.map(({ supplier }) => supplier))]
    const bases = this.#contents.index.basesOf(topUp).map((position) => this.packages[position]!)
    const esims = bases.flatMap((base) =>
      suppliers
        .filter((supplier) => fitsEsim(topUp, base, supplier))
        .map((supplier) => ({ packageCode: base.packageCode, supplier })),
    )
    this.#toppedUp.set(packageCode, esims)
    return esims
  }

  get packages(): readonly CataloguePackage[] {
    return this.#contents.index.packages
  }

  plan(planName: string): Plan {
    return this.#contents.plans.get(planName) ?? new Plan()
  }

  /**
   * The estimated time may lag slightly. It must not hide a rule that began before a change that pollers have already seen.
   */
  now(): number {
    return Math.max(this.#context.databaseClock.now(), this.#contents.changedAt)
  }

  #offerOf(buyer: Buyer, item: CataloguePackage, routes = item.routes): Offer | '310241' | '310244' {
    const { price } = quote(this.tariffOf(buyer), item, this.now())
    if (price === undefined) return '310241'
    if (!item.onSale) return '310244'
    const { packageCode, name, packageType, periodNumMin, periodNumMax, cancelPolicy } = item
    return { packageCode, packageName: name, packageType, periodNumMin, periodNumMax, cancelPolicy, price, routes }
  }

  listSource(buyer: Buyer): ListSource {
    const { index, changedAt } = this.#contents
    const { touchedAt } = this.#prefilter
    const priced = this.#prefilter.pricedIn(buyer.currencyCode)
    const [tariff, now] = [this.tariffOf(buyer), this.now()]
    return { index, touchedAt, priced, changedAt, tariff, now, linkKey: this.#context.linkKey }
  }

  *quotes(buyer: Buyer): Iterable<QuotedPackage> {
    const tariff = this.tariffOf(buyer)
    const now = this.now()
    for (const item of this.#contents.index.packages) {
      const { price, ...rest } = quote(tariff, item, now)
      if (price !== undefined) yield { item, quote: { price, ...rest } }
    }
  }

  tariffOf(buyer: Buyer): Tariff {
    let tariff = this.#tariffs.get(buyer.tenantId)
    if (!tariff) {
      if (this.#tariffs.size >= TARIFFS_CACHED) this.#tariffs.clear()
      tariff = tariffOf(this.#contents, buyer)
      this.#tariffs.set(buyer.tenantId, tariff)
    }
    return tariff
  }
}

/**
 * The number of tenants whose tariffs are cached: those active since the last catalogue change. Computing one takes
 * microseconds.
 */
const TARIFFS_CACHED = 10_000

function withRules(plans: ReadonlyMap<string, Plan>, rows: readonly PlanRuleRow[]): ReadonlyMap<string, Plan> {
  if (rows.length === 0) return plans
  const changed = new Map(plans)
  for (const planName of new Set(rows.map((row) => row.planName))) {
    const rules = rows.filter((row) => row.planName === planName)
    changed.set(planName, (plans.get(planName) ?? new Plan()).with(rules))
  }
  return changed
}

function withAssignments(
  known: ReadonlyMap<string, readonly Assignment[]>,
  rows: readonly Assignment[],
): ReadonlyMap<string, readonly Assignment[]> {
  if (rows.length === 0) return known
  const changed = new Map(known)
  for (const row of rows) {
    const others = (changed.get(row.owner) ?? []).filter((other) => other.target !== row.target)
    changed.set(row.owner, [...others, row])
  }
  return changed
}

function withOwnPrices(
  known: ReadonlyMap<string, ReadonlyMap<string, OwnPrice>>,
  rows: readonly OwnPriceRow[],
): ReadonlyMap<string, ReadonlyMap<string, OwnPrice>> {
  if (rows.length === 0) return known
  const changed = new Map<string, Map<string, OwnPrice>>()
  for (const row of rows) {
    const prices = changed.get(row.tenantId) ?? new Map(known.get(row.tenantId))
    changed.set(row.tenantId, prices.set(row.packageCode, row))
  }
  return new Map([...known, ...changed])
}
