import type { Db } from '../../lib/db.ts'
import type { Ids } from '../../lib/ids.ts'
import { type Loop, runLoop } from '../../lib/lifecycle.ts'
import type { Log } from '../../lib/log.ts'
import type { LoopWatch } from '../../lib/loop-watch.ts'
import { expireCodes } from './levels.ts'

const POLL_MS = 60_000

/** Takes expired codes off the counters. Being late costs an early answer; an expired code is never delivered. */
export function stockLoop(deps: { db: Db; ids: Ids; log: Log; loops?: LoopWatch }): Loop {
  const pass = () => expireCodes(deps.db, deps.ids)
  return runLoop({ name: 'stock', log: deps.log, loops: deps.loops, poll_ms: POLL_MS, pass })
}
