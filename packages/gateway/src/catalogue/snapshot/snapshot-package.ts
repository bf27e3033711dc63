import type {
  ActivationPolicy,
  CancelPolicy,
  DataType,
  DurationUnit,
  PackageType,
  SmsStatus,
} from '@dealer-esim/contract'
import type { Coverage } from '../coverage.ts'

/** A package in a snapshot. Times are ms since 1970. */
export interface CataloguePackage {
  readonly packageCode: string
  readonly slug: string
  readonly packageType: PackageType
  /** A TOPUP package fits only eSIMs of packages of the same family; null is a family, too. */
  readonly productFamily: string | null
  readonly name: string
  readonly description: string | null
  readonly dataType: DataType
  /** Bytes; per day when DAILY, null when UNLIMITED. */
  readonly volume: bigint | null
  readonly duration: number
  readonly durationUnit: DurationUnit
  /** Days of a day pass; both null if the duration is fixed. */
  readonly periodNumMin: number | null
  readonly periodNumMax: number | null
  readonly unusedValidTime: number
  readonly activationPolicy: ActivationPolicy
  readonly ekycRequired: boolean
  readonly coverage: Coverage
  readonly speed: string | null
  readonly fupPolicy: string | null
  readonly smsStatus: SmsStatus
  readonly allowLoss: boolean
  readonly cancelPolicy: CancelPolicy
  /** An operator or a rule has put the package on sale, and at least one of its suppliers has money. */
  readonly onSale: boolean
  readonly everOnSale: boolean
  /** 0: unknown. Meaningless if the package was never on sale. */
  readonly firstOnSaleAt: number
  readonly saleChangedAt: number
  readonly createdAt: number
  /** The last change of a member that dealers see, except prices. */
  readonly updatedAt: number
  /** The last change of anything, including suppliers and their costs. */
  readonly touchedAt: number
  readonly prices: readonly ListPrice[]
  readonly routes: readonly Route[]
}

/** One per currency. Removed prices are kept because the change feed reports when they ended. */
export interface ListPrice {
  readonly currencyCode: string
  readonly price: bigint
  readonly retailPrice: bigint | null
  readonly removed: boolean
  /** 0: unknown. */
  readonly firstAt: number
  readonly updatedAt: number
}

/** A supplier of the package and the supplier's own code for it. */
export interface Route {
  readonly supplier: string
  readonly productCode: string
  readonly cost: bigint | null
  readonly costCurrency: string | null
}
