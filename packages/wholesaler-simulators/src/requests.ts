/** One request that reached the simulator. */
export interface RequestRecord {
  /** When it arrived, in milliseconds since 1970 with fractions, by the machine's clock, not the simulator's. */
  atMs: number
  method: string
  path: string
  /** Name of the operation; `unknown` if the interface does not have it. */
  operation: string
  /** Kinds of the faults that were applied. */
  faults: string[]
  /** HTTP status; null: no complete answer was sent. */
  status: number | null
  /** True if the account decided on it; false if it was refused before that, or lost. */
  reachedAccount: boolean
}

/** Beyond this number, the oldest are dropped: a test of 60 s at 10/s has 600. */
const RECORDS_MAX = 200_000

/** All requests, in order of arrival. */
export class RequestLog {
  records: RequestRecord[] = []

  add(request: Pick<RequestRecord, 'method' | 'path'>): RequestRecord {
    const atMs = performance.timeOrigin + performance.now()
    const record = { atMs, ...request, operation: 'unknown', faults: [], status: null, reachedAccount: false }
    this.records.push(record)
    if (this.records.length > RECORDS_MAX) this.records.shift()
    return record
  }

  countByOperation(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { operation } of this.records) counts[operation] = (counts[operation] ?? 0) + 1
    return counts
  }

  /** Requests in the last second, including this one. */
  countOfLastSecond(): number {
    const latest = this.records.at(-1)?.atMs ?? 0
    let counted = 0
    for (let index = this.records.length - 1; index >= 0 && this.records[index]!.atMs > latest - 1_000; index -= 1)
      counted += 1
    return counted
  }

  /** The most requests in any sliding second. */
  busiestSecond(): number {
    let busiest = 0
    let start = 0
    for (const [index, { atMs }] of this.records.entries()) {
      while (this.records[start]!.atMs <= atMs - 1_000) start += 1
      busiest = Math.max(busiest, index - start + 1)
    }
    return busiest
  }
}
