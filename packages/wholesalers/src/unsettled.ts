/**
 * What public documents leave open about a type of supplier, and what the adapter does meanwhile. A purchase settles it: the
 * supplier's page shows these until one has verified the supplier.
 */
export const UNSETTLED: Readonly<Record<string, readonly string[]>> = {
  airalo: [
    'The form of the second page of a list: both documented forms are read.',
    'Whether the look-up of an order says what was debited: if it does not, the charge is unknown and the cost in the catalogue stands in.',
    'Whether top-ups are accepted as JSON: if not, they are refused and nothing is bought.',
  ],
  'esim-access': [
    'The form of the times in a search: the documented one is sent. A search that misses an order repeats it under the same key, which buys nothing more.',
    'Whether the list of top-ups without an ICCID is complete: a top-up that an eSIM does not take is refused.',
  ],
  'esim-go': [
    'Whether the SM-DP+ address has a scheme: it is removed.',
    'The shape of the organisation: all documented ones are read.',
    'Whether used bundles are listed only on request: they are requested, and an interface that refuses this is asked without it.',
  ],
  mobimatter: ['Whether the provider of an eSIM reports usage: without a report it stays unknown.'],
  zendit: [
    'Whether the cost of a purchase includes its fee: with a fee, the charge is unknown unless base, fee and cost add up, and the cost in the catalogue, which includes the fee, stands in.',
    'Whether the balance falls by that cost: verifying compares the balance before and after with the charge.',
  ],
}
