import type { Config } from '#platform/config/config.ts'

/**
 * Decides who may use the operations that begin with `test/`: every tenant of a local or test deployment, and test twins on any
 * deployment.
 */
export function mayUseTestOperations(deployment: Config['deployment'], isTwin: boolean): boolean {
  return isTwin || deployment !== 'production'
}
