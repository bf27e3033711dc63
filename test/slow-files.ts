import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node'

const root = new URL('..', import.meta.url).pathname

/**
 * Files that may take longer than the others, each with its budget in seconds on two cores without other work: the longest
 * first, because they are started in this order. On a fresh clone, vitest sorts by file size, and browser flows are small
 * files: if they started last, they would keep one core busy for a minute while the other is idle.
 */
const SLOW: Record<string, number> = {
  'test/browser/console.deployment.test.ts': 600,
  'test/samples.deployment.test.ts': 120,
  'packages/gateway/test/orders/crash.deployment.test.ts': 600,
  // Not beside the other browser test: each keeps more than one core busy.
  'test/browser/console-accessibility.deployment.test.ts': 240,
  'test/docs-operator.deployment.test.ts': 400,
  'packages/gateway/test/platform/deployment/auto-failover.deployment.test.ts': 240,
  'packages/gateway/test/orders/topups/crash.deployment.test.ts': 240,
  'test/artifacts/deb.deployment.test.ts': 240,
  'packages/gateway/test/cells/move-load.deployment.test.ts': 240,
  'packages/gateway/test/suppliers/conformance.test.ts': 60,
  'packages/gateway/test/platform/deployment/start.test.ts': 60,
  'test/browser/traveller-pages.test.ts': 60,
  'packages/gateway/test/lib/embedded-postgres.test.ts': 30,
  'packages/gateway/test/wholesalers/mobimatter.test.ts': 45,
  'packages/gateway/test/fulfilment/crash.deployment.test.ts': 240,
  'packages/gateway/test/orders/failpoints.deployment.test.ts': 240,
  'packages/gateway/test/http/dealer/several-nodes.deployment.test.ts': 240,
  'test/browser/list-tools.deployment.test.ts': 240,
  'packages/gateway/test/http/rt/package-list.deployment.test.ts': 60,
  'packages/gateway/test/model/model.test.ts': 60,
  'packages/gateway/test/alerts/mail.deployment.test.ts': 45,
  'packages/gateway/test/lib/migrate.test.ts': 45,
  'packages/gateway/test/platform/retention/request-id-slots.test.ts': 40,
  'packages/gateway/test/sales/sums.deployment.test.ts': 40,
  'packages/gateway/test/model/life.deployment.test.ts': 40,
  'packages/gateway/test/tenants/keys/restricted-keys.test.ts': 40,
  'packages/gateway/test/orders/failing-batches.test.ts': 40,
  'packages/gateway/test/suppliers/after-sale.deployment.test.ts': 40,
  'packages/gateway/test/http/dealer/fuzz.test.ts': 20,
  'packages/gateway/test/lib/every-statement.test.ts': 20,
  'packages/gateway/test/platform/deployment/backup.test.ts': 20,
  'test/sdks/conformance.deployment.test.ts': 60,
  'test/sdks/packages.deployment.test.ts': 60,
  'test/postman/postman.deployment.test.ts': 60,
  'test/docs-commands.test.ts': 20,
}

/** Seconds for a file that is not listed. */
const BUDGET = { unit: 4, system: 20, deployment: 150 }

/** Starts the slow files first, in their order, and the others in vitest's order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const names = Object.keys(SLOW)
    const missing = names.filter((name) => !existsSync(`${root}${name}`))
    if (missing.length > 0) throw new Error(`test/slow-files.ts lists files that do not exist: ${missing.join(', ')}`)
    const rank = ({ moduleId }: TestSpecification) => {
      const index = names.indexOf(relative(root, moduleId))
      return index < 0 ? names.length : index
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}

/** How long a file took, and its budget. */
export interface FileTime {
  readonly file: string
  readonly seconds: number
  readonly budget: number
}

export function fileTime(module: TestModule): FileTime {
  const { duration, collectDuration, setupDuration } = module.diagnostic()
  const file = relative(root, module.moduleId)
  const project = module.project.name as keyof typeof BUDGET
  const seconds = Math.round((duration + collectDuration + setupDuration) / 100) / 10
  return { file, seconds, budget: SLOW[file] ?? BUDGET[project] }
}

const SHOWN = 20

/** `npm run test:times`: lists the slowest files of a run. A busy machine is slow, so nothing fails here. */
export default class TimesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const times = modules.map(fileTime).sort((one, other) => other.seconds - one.seconds)
    const lines = times.slice(0, SHOWN).map(({ file, seconds, budget }) => {
      const over = seconds > budget ? `  over its budget of ${budget} s` : ''
      return `${seconds.toFixed(1).padStart(8)} s  ${file}${over}`
    })
    process.stdout.write(`\nThe slowest files (budgets: test/slow-files.ts):\n${lines.join('\n')}\n`)
  }
}
