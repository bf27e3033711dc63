import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = new URL('..', import.meta.url).pathname

/**
 * The slowest test files, the slowest first. On a fresh clone vitest sorts by file size, and browser flows are small files:
 * started last, they keep one core busy for a minute while the other is idle.
 */
const LONGEST = [
  'test/browser/console.deployment.test.ts',
  'test/samples.deployment.test.ts',
  'packages/gateway/test/orders/crash.deployment.test.ts',
  // Not next to the other browser test: each keeps more than one core busy.
  'test/browser/console-accessibility.deployment.test.ts',
  'test/docs-operator.deployment.test.ts',
  'packages/gateway/test/suppliers/conformance.test.ts',
  'packages/gateway/test/lib/embedded-postgres.test.ts',
  'packages/gateway/test/wholesalers/mobimatter.test.ts',
  'packages/gateway/test/fulfilment/crash.deployment.test.ts',
  'packages/gateway/test/orders/failpoints.deployment.test.ts',
  'packages/gateway/test/http/dealer/several-nodes.deployment.test.ts',
  'packages/gateway/test/http/dealer/fuzz.test.ts',
  'packages/gateway/test/alerts/mail.test.ts',
  'packages/gateway/test/platform/deployment/start.test.ts',
  'packages/gateway/test/platform/deployment/backup.test.ts',
  'test/docs-commands.test.ts',
]

/** Starts the files of the list first and the others in vitest's order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const missing = LONGEST.filter((name) => !existsSync(`${root}${name}`))
    if (missing.length > 0)
      throw new Error(`test/longest-first.ts lists files that do not exist: ${missing.join(', ')}`)
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.indexOf(relative(root, moduleId))
      return index < 0 ? LONGEST.length : index
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}
