/**
 * What public documents leave open about a type of supplier, and what the adapter does in the meantime. A purchase settles
 * these points: the supplier's page shows them until one has verified the supplier.
 */
export const UNSETTLED: Readonly<Record<string, readonly string[]>> = {
  airalo: [
    'The form of the second page of a list: both documented forms are read.',
    'Whether the look-up of an order says what was debited: if it does not, the charge is unknown and the cost in the catalogue stands in.',
    'Whether top-ups are accepted as JSON: if not, they are refused and nothing is bought.',
    'Where the discount of an account is stated: beside the list and in its meta are read. Without it, packages that have only a retail price are not sold.',
    'The currency of prices that name none: in the catalogue US dollars, so for another currency only the prices by currency are read; in an order its own currency. Verifying compares the balance before and after with the charge.',
  ],
  'esim-access': [
    'The form of the times in a search: the documented one is sent. A search that misses an order repeats it under the same key, which buys nothing more.',
    'Whether the list of top-ups without an ICCID is complete: dealers see only top-ups that the list by ICCID has, too. One that an eSIM does not take is refused.',
    'Whether the amount of a top-up by several days is that of all days: it is sent as such. A wholesaler that takes it for that of one day refuses it, and nothing is debited.',
    'How many SMS a package includes: their number is not stated, so none is promised.',
  ],
  'esim-go': [
    'Whether the SM-DP+ address has a scheme: it is removed.',
    'The shape of the organisation: all documented ones are read.',
    'Whether used bundles are listed only on request: they are requested, and an interface that refuses this is asked without it.',
    'Which types the allowances of a bundle have: VOICE and SMS are read, and any other type is left out.',
    'Whether unlimited bundles have the documented daily limits: they are shown as the condition of fair use.',
  ],
  mobimatter: [
    'Whether the provider of an eSIM reports usage: without a report it stays unknown.',
    'Under which name SMS are counted: PLAN_SMS_LIMIT is read, and HAS_SMS alone promises no number.',
    'How many bytes a GB has: the smaller number is assumed.',
    'In which zone the times are that name none: in UTC.',
  ],
  zendit: [
    'Whether the cost of a purchase includes its fee: with a fee, the charge is unknown unless base, fee and cost add up, and the cost in the catalogue, which includes the fee, stands in.',
    'Whether the balance falls by that cost: verifying compares the balance before and after with the charge.',
    'How many bytes a GB has: the smaller number is assumed.',
  ],
}

/**
 * Which answers each adapter was tested against: those that integrators recorded or that official documents show. They are
 * replayed from ../recordings, rebuilt without anybody's data.
 */
export const HELD: Readonly<Record<string, readonly string[]>> = {
  airalo: [
    'Catalogue: pages keyed by numbers, net, discounted and retail prices, prices by currency, fair use, calls and SMS.',
    'Orders, top-ups and look-ups: charges, states, codes of an eSIM, refusals, pages of a proxy in front of the interface.',
    'Usage of a recycled eSIM, the balance, signed events.',
  ],
  'esim-access': [
    'Catalogue: units of duration, entries that cannot be read, SMS, the speed after a limit.',
    'Orders, top-ups and look-ups: codes of an eSIM, refusals, top-ups under another transactionId.',
    'The balance.',
  ],
  'esim-go': [
    'Catalogue: a list with and without pages, entries that cannot be read, calls and SMS, unlimited bundles, both forms of the organisation.',
    'Orders and look-ups: SM-DP+ addresses with and without a scheme, a deactivated account.',
    'Bundles of an eSIM that are active, queued, depleted, expired or lapsed; the balance.',
  ],
  mobimatter: [
    'Catalogue: marks of unlimited plans, minutes of calls, throttle texts, names that end in a space.',
    'Look-ups: confirmation codes, pages of identity checks, links for one-tap installation, failed and refunded orders, top-ups after a replacement.',
    'Usage by the provider, the balance, signed events.',
  ],
  zendit: [
    'Catalogue: fees, regions without countries, calls and SMS.',
    'Purchases: fees inside and outside of the cost, codes of an eSIM.',
    'Plans of an eSIM, the balance.',
  ],
}
