import { headerKey, type KnownColumns } from '@dealer-esim/lib/table-files/table-columns.ts'

/** The number of an order's item, in files that resolve it. */
export const ITEM_NO = 'itemNo'

const COLUMNS = [
  ...[
    'iccid',
    'ac',
    'smdpAddress',
    'matchingId',
    'confirmationCode',
    'pin',
    'puk',
    'imsi',
    'msisdn',
    'apn',
    'expiresAt',
  ],
]

/** Wholesalers' names for these columns in their own files. */
const VENDORS = new Map(
  [
    ['Activation code', 'ac'],
    ['LPA', 'ac'],
    ['RSP URL', 'smdpAddress'], // eSIM Go
    ['smdp_plus_uri', 'smdpAddress'],
    ['SM-DP', 'smdpAddress'],
    ['Bundle', 'bundle'], // eSIM Go's product: all rows of a file must have the same product
  ].map(([header, column]) => [headerKey(header!), column!]),
)

/** The columns of a file with eSIMs. */
export function stockColumns(withItemNo: boolean): KnownColumns {
  const names = [...COLUMNS, ...(withItemNo ? [ITEM_NO] : [])]
  const byKey = new Map(names.map((name) => [headerKey(name), name]))
  return { names, find: (key) => byKey.get(key) ?? VENDORS.get(key), check: findMissing }
}

function findMissing(columns: readonly string[]): string | undefined {
  const has = (name: string) => columns.includes(name)
  const whole = has('ac') && !has('smdpAddress') && !has('matchingId')
  const parts = !has('ac') && has('smdpAddress') && has('matchingId')
  if (has('iccid') && (whole || parts)) return undefined
  return 'The header must have iccid and ac, or iccid, smdpAddress and matchingId.'
}
