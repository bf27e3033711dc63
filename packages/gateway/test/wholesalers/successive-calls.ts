import type { Outcome, Supplier } from '@dealer-esim/wholesalers/supplier.ts'

/**
 * Sends the calls about one purchase one after another. The suite gives a call less time than the supplier itself may take,
 * so on a busy machine fulfilment asks about a purchase whose call is still sending requests. Only the end of that call
 * shows that it will not buy anything more; no grace time in milliseconds can show that.
 * @param settle resolves once the remote side has carried out, or dropped, what it was sent before
 */
export function withSuccessiveCalls(supplier: Supplier, settle: () => Promise<unknown>): Supplier {
  const ends = new Map<string, Promise<unknown>>()
  function inTurn<Request extends { key: string }, More extends unknown[]>(
    call: (requests: Request[], ...more: More) => Promise<Outcome[]>,
  ) {
    return (requests: Request[], ...more: More): Promise<Outcome[]> => {
      const earlier = requests.flatMap(({ key }) => ends.get(key) ?? [])
      const answering =
        earlier.length === 0
          ? call(requests, ...more)
          : Promise.all(earlier)
              .then(settle)
              .then(() => call(requests, ...more))
      const ended = answering.catch(() => {})
      for (const { key } of requests) ends.set(key, ended)
      return answering
    }
  }
  return {
    ...supplier,
    order: inTurn(supplier.order),
    query: inTurn(supplier.query),
    ...(supplier.topUp && { topUp: inTurn(supplier.topUp) }),
  }
}
