import type { Db } from '../lib/postgres/db.ts'
import { createPartitions, dropPartitions } from '../lib/postgres/partitions.ts'
import { PARTITIONED } from './table.ts'

/** Makes the partitions that are needed soon, of every partitioned table. @returns their names */
export function maintainPartitions(db: Db): Promise<string[]> {
  return createPartitions(db, PARTITIONED)
}

/** Drops the partitions that are past keeping. Whoever asks knows that the clock is right. @returns their names */
export function dropPastPartitions(db: Db): Promise<string[]> {
  return dropPartitions(db, PARTITIONED)
}
