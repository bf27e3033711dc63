import { countryName } from '../coverage.ts'
import type { PackageDocument } from '../packages/document.ts'

/**
 * Packages with which a dealer's developer sees every state that an order can take. The sandbox supplier reads what to
 * do from the product code.
 */
const BEHAVIOURS: Readonly<Record<string, readonly [name: string, description: string]>> = {
  SANDBOX_OK: ['delivers', 'Delivers at once: the order ends DELIVERED.'],
  SANDBOX_REFUSED: ['refuses', 'Refuses every eSIM: the order ends FAILED and is refunded whole.'],
  SANDBOX_PARTIAL: [
    'delivers a part',
    'Refuses some of the eSIMs: the order ends PARTIALLY_DELIVERED. Order two or more.',
  ],
  SANDBOX_SLOW: ['is slow', 'Delivers after some time: the order stays ALLOCATING until then.'],
  SANDBOX_UNKNOWN: ['does not say', 'Leaves the outcome open: the order goes UNDER_REVIEW.'],
  SANDBOX_OUT_OF_STOCK: ['is sold out', 'Has no eSIM left: the order is refused with 200011.'],
}

/** Nobody travels there for its networks, so these packages are in nobody's way when a country is filtered for. */
const PLACE = 'AQ'

export function sandboxPackages(): PackageDocument[] {
  return Object.entries(BEHAVIOURS).map(([packageCode, [name, description]]) => ({
    packageCode,
    slug: packageCode.toLowerCase().replaceAll('_', '-'),
    name: `Sandbox: ${name}`,
    description,
    status: 'ON_SALE',
    dataType: 'TOTAL',
    volume: 1_073_741_824,
    duration: 7,
    durationUnit: 'DAY',
    unusedValidTime: 180,
    activationPolicy: 'ON_FIRST_NETWORK',
    ekycRequired: false,
    locationCodes: [PLACE],
    locationNetworkList: [{ locationCode: PLACE, locationName: countryName(PLACE), operatorList: [] }],
    speed: null,
    fupPolicy: null,
    smsStatus: 0,
    allowLoss: false,
    prices: [
      { currencyCode: 'EUR', price: 10_000, retailPrice: null },
      { currencyCode: 'USD', price: 10_000, retailPrice: null },
    ],
    suppliers: [{ supplier: 'sandbox', productCode: packageCode, costPrice: null, costCurrency: null }],
  }))
}
