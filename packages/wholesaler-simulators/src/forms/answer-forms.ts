/* Forms of answers that occur in addition to the usual one. A test or an operator switches them on. */

const FORMS_OF_ALL = [
  'keyed-lists', // lists of objects are objects keyed by numbers, as PHP encodes lists with gaps
  'bare-results', // a result without its envelope; a list in an envelope becomes an array
  'odd-entries', // the catalogue, and the list of an eSIM's top-ups, have entries that are not objects
  'odd-product', // the first product of the catalogue has no price
  'long-decimals', // amounts have the traces of binary fractions
  'smdp-urls', // the SM-DP+ address is a URL, also in an activation code
  'proxy-answers', // a proxy or a framework in front of the interface answers what did not reach it
  'stated-terms', // packages state calls, SMS and a condition of fair use, and eSIMs a telephone number
] as const

const FORMS_OF_ONE = {
  airalo: [
    'discount-pricing', // the account has a discount on retail prices instead of net prices
    'recycled-usage', // the usage of an ended eSIM is that of a recycled one: nothing of nothing
    'other-refusals', // a package that is out of stock is refused with another code, or with a reason alone
    'failed-orders', // an order that is not delivered has failed
    'currency-prices', // flat prices are in US dollars; those in the account's currency are in `prices`
    'country-lists', // an operator lists its countries instead of its coverages
    'spaced-events', // events are sent with white space, and signed without it
    'system-apns', // an eSIM's APN is stated for each operating system
    'apple-links', // only the direct link for iPhones contains an eSIM's activation code
  ],
  'esim-access': [
    'other-refusals', // a package that is out of stock is refused with the codes of faults of an order
    'unit-words', // durations in hours, and units in the plural
    'own-transactions', // a top-up is answered under a transactionId of the wholesaler
    'amount-per-day', // the amount of a top-up for several days is that of one day
    'abnormal-states', // a top-up that the eSIM's state does not allow is refused with another code
  ],
  'esim-go': [
    'organisation-object', // the organisation is not in a list
    'deactivated-account', // an account that is refused was deactivated: status 410
    'unsigned-events', // callbacks of version 2, the default of an account, carry no signature
  ],
  mobimatter: [
    'unlimited-marks', // unlimited plans are flagged, and have a placeholder as their limit
    'confirmation-codes', // eSIMs need a confirmation code
    'replaced-lines', // the order of a top-up contains a different ICCID for the line, and its first order
    'identity-pages', // eSIMs have a page on which the traveller proves their identity
    'one-click-links', // only the links for installation with one click contain an eSIM's activation code
    'refunded-orders', // an order that fails after it was accepted is refunded
    'times-without-zone', // times have no zone
  ],
  zendit: [
    'cost-fees', // purchases show a fee that is part of their cost
    'fees-on-top', // purchases and offers show a fee in addition to their cost
    'region-names', // regional offers name their region instead of its countries
    'esim-details', // eSIMs have an APN and a telephone number, and plans the time of the first installation
  ],
} as const

export type Form = (typeof FORMS_OF_ALL)[number] | (typeof FORMS_OF_ONE)[keyof typeof FORMS_OF_ONE][number]

export const FORMS: readonly Form[] = [...new Set<Form>([...FORMS_OF_ALL, ...Object.values(FORMS_OF_ONE).flat()])]

/** The forms in which the simulator of a kind can answer. */
export function formsOf(kind: keyof typeof FORMS_OF_ONE): readonly Form[] {
  return [...FORMS_OF_ALL, ...FORMS_OF_ONE[kind]]
}

/** What packages state in the form stated-terms, if the interface has members for it. */
export const TERMS = { minutes: 100, sms: 20, fairUse: 'Speed is restricted to 1 Mbps after 2 GB a day' } as const

/** The telephone number of an eSIM in the same form. */
export function phoneNumberOf({ imsi }: { imsi: string }): string {
  return `+44${imsi.slice(-10)}`
}

const ENVELOPES = ['data', 'result', 'obj', 'bundles', 'list']

/** Converts a successful answer of an operation into these forms. */
export function inForms<Answer extends { status: number; body?: unknown }>(
  forms: ReadonlySet<Form>,
  operation: string,
  answer: Answer,
): Answer {
  if (forms.size === 0 || answer.status >= 300) return answer
  let { body } = answer
  const isCatalogue = operation === 'catalogue'
  if (forms.has('odd-product') && isCatalogue) body = withoutFirstPrice(body)
  if (forms.has('odd-entries') && (isCatalogue || operation === 'topUps')) body = withOddEntries(body)
  if (forms.has('long-decimals')) body = changeEach(body, longDecimal)
  if (forms.has('bare-results')) body = withoutEnvelope(body)
  if (forms.has('keyed-lists')) body = changeEach(body, keyed)
  return { ...answer, body }
}

type Change = (value: unknown, name: string) => unknown

/** Changes every value of a JSON document, the innermost first. */
function changeEach(value: unknown, change: Change, name = ''): unknown {
  if (Array.isArray(value)) {
    return change(
      value.map((one) => changeEach(one, change, name)),
      name,
    )
  }
  if (typeof value !== 'object' || value === null) return change(value, name)
  const members = Object.entries(value).map(([member, inner]) => [member, changeEach(inner, change, member)])
  return change(Object.fromEntries(members), name)
}

const FIRST_KEY = 100

function keyed(value: unknown): unknown {
  const isList = Array.isArray(value) && value.some((one) => typeof one === 'object')
  return isList ? Object.fromEntries(value.map((one, index) => [String(FIRST_KEY + index), one])) : value
}

const AMOUNTS = /price|balance|^amount$|^total$|^fixed$|^cost$/i
const TRACE = 0.000_000_000_2

function longDecimal(value: unknown, name: string): unknown {
  // A total without decimals may be the number of rows in a list.
  const isCount = name === 'total' && Number.isInteger(value)
  return typeof value === 'number' && AMOUNTS.test(name) && !isCount ? value + TRACE : value
}

/** Entries that are not objects at the start, in the middle and at the end of the list. */
function withOddEntries(body: unknown): unknown {
  return inList(body, (list) => {
    const middle = Math.floor(list.length / 2)
    return [null, ...list.slice(0, middle), 'odd', ...list.slice(middle), 7]
  })
}

function withoutFirstPrice(body: unknown): unknown {
  let isFirst = true
  return changeEach(body, (value) => {
    if (!isFirst || typeof value !== 'object' || value === null) return value
    const price = Object.keys(value).find((name) => /^(net_price|wholesalePrice|price|cost)$/.test(name))
    if (price === undefined) return value
    isFirst = false
    return { ...value, net_price: undefined, [price]: null }
  })
}

/** Changes the outermost list. */
function inList(body: unknown, change: (list: unknown[]) => unknown[]): unknown {
  if (Array.isArray(body)) return change(body)
  if (typeof body !== 'object' || body === null) return body
  const members = Object.entries(body)
  const [found] =
    members.find(([name, value]) => ENVELOPES.includes(name) && typeof value === 'object' && value !== null) ??
    members.find(([, value]) => Array.isArray(value)) ??
    []
  return Object.fromEntries(members.map(([name, value]) => [name, name === found ? inList(value, change) : value]))
}

function withoutEnvelope(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  const members = body as Record<string, unknown>
  const name = ENVELOPES.find((one) => typeof members[one] === 'object' && members[one] !== null)
  if (name === undefined) return body
  // The RT family says in the envelope whether a request succeeded.
  return name === 'obj' ? { ...members, obj: undefined, ...(members.obj as object) } : members[name]
}
