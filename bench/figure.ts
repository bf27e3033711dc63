import type { Result } from './compare.ts'
import type { Environment } from './environment.ts'

/** What `npm run bench -- NAME` measures. */
export interface Figure {
  name: string
  summary: string
  run(bench: Environment): Promise<Result[]>
}
