import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { CiReport } from './test/ci-report.ts'
import { LongestFirst } from './test/slow-files.ts'

// CI collects the results of all its test runs here, whichever command started them.
const reportDir = process.env.TEST_REPORT_DIR
// Files of a run share loaded modules: loading the gateway again for each file took a fifth of the suite. A test resets
// whatever it sets in them.
const isolate = false

/** Long runs: crash and kill rounds, several nodes, proxies, browser flows over many pages. `npm run test:deployment`. */
const DEPLOYMENT_TESTS = '**/*.deployment.test.ts'

/** Citus distributes no schema named public, so there the tests' gateways use another one where they name none. */
const otherDefaultSchema = {
  name: 'other-default-schema',
  enforce: 'pre' as const,
  transform: (code: string, id: string) =>
    id.endsWith('/lib/src/postgres/schema.ts')
      ? code.replace("DEFAULT_SCHEMA = 'public'", "DEFAULT_SCHEMA = 'cell'")
      : null,
}

const database = {
  isolate,
  globalSetup: ['packages/gateway/test/harness/global-setup.ts'],
  setupFiles: ['packages/gateway/test/harness/databases/parameter-types.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // vitest's own second is too short on a busy machine. A failing test waits no longer than this.
  expect: { poll: { timeout: 60_000 } },
  // A busy CI machine is late now and then. The report names what passed only at its second attempt.
  retry: process.env.CI ? 1 : 0,
}

export default defineConfig({
  test: {
    reporters: reportDir ? ['default', new CiReport(join(reportDir, `${process.pid}.json`))] : ['default'],
    // The twenty longest files of system tests use processor time for 37 % of theirs, and wait otherwise. Four keep two cores
    // busy.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.{ts,tsx}', 'test/style/*.test.ts'],
          isolate,
          testTimeout: 30_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        test: {
          name: 'system',
          include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [DEPLOYMENT_TESTS, 'test/style/**', '**/node_modules/**'],
          ...database,
        },
        plugins: process.env.TEST_CITUS_URL ? [otherDefaultSchema] : [],
      },
      {
        test: {
          name: 'deployment',
          include: [`packages/*/test/${DEPLOYMENT_TESTS}`, `test/${DEPLOYMENT_TESTS}`],
          ...database,
          // They start many processes, four files at a time. Those that last minutes state their own.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          globalSetup: [...database.globalSetup, 'packages/gateway/test/platform/deployment/network-namespaces.ts'],
        },
        plugins: process.env.TEST_CITUS_URL ? [otherDefaultSchema] : [],
      },
    ],
  },
})
