import type { Db } from '../lib/db.ts'
import { keepPartitions, type Maintained } from '../lib/partitions.ts'
import { PARTITIONED } from './table.ts'

/** Makes the partitions that are needed soon, and drops those that are past keeping, of every partitioned table. */
export function maintainPartitions(db: Db): Promise<Maintained> {
  return keepPartitions(db, PARTITIONED)
}
