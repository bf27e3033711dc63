import type { Result } from './compare.ts'
import type { Environment } from './environment.ts'

/** One measurement, run by `npm run bench -- NAME`. */
export interface Figure {
  name: string
  summary: string
  run(bench: Environment): Promise<Result[]>
}
