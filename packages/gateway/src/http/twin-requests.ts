import { isTestAppKey } from '@dealer-esim/contract'
import type { Deps } from '#deps.ts'

/**
 * The dependencies that serve a request: the test twins' for `ak_<cell>_test_…` and `rk_<cell>_test_…`, by the form of the AppKey
 * alone, before anything is looked up. So neither kind of AppKey is ever looked for among the other's.
 */
export async function depsOf(live: Deps, appKey: string): Promise<Deps> {
  if (!isTestAppKey(appKey)) return live
  // Without twins the AppKey is unknown to the live dealers, too.
  return (await live.twins.open()) ?? live
}
