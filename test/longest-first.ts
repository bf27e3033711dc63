import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = new URL('..', import.meta.url).pathname

/**
 * What takes longest, the longest first. On a clean clone vitest knows only how large files are, and the flows in a
 * browser are small files: begun last, they keep one core busy for a minute while the other has nothing left to do.
 */
const LONGEST = [
  'test/browser/console.deployment.test.ts',
  'test/samples.test.ts',
  'packages/gateway/test/orders/crash.deployment.test.ts',
  // Not beside the other one in a browser: each keeps more than one core busy.
  'test/browser/console-accessibility.deployment.test.ts',
  'test/docs-operator.test.ts',
  'packages/gateway/test/lib/embedded-postgres.test.ts',
  'packages/gateway/test/catalogue/files.test.ts',
  'packages/gateway/test/fulfilment/crash.deployment.test.ts',
  'packages/gateway/test/orders/failpoints.deployment.test.ts',
  'packages/gateway/test/dealer-api/several-nodes.deployment.test.ts',
  'packages/gateway/test/dealer-api/fuzz.test.ts',
  'packages/gateway/test/fulfilment/hanging-supplier.test.ts',
  'packages/gateway/test/mail/mail.test.ts',
  'packages/gateway/test/deployment/start.test.ts',
  'packages/gateway/test/deployment/backup.test.ts',
  'test/docs-commands.test.ts',
]

/** Those that are named here begin first, the others as vitest thinks best. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = LONGEST.filter((name) => !existsSync(`${root}${name}`))
    if (gone.length > 0) throw new Error(`test/longest-first.ts names files that are gone: ${gone.join(', ')}`)
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.indexOf(relative(root, moduleId))
      return place < 0 ? LONGEST.length : place
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}
