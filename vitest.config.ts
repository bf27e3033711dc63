import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/longest-first.ts'

// Where CI collects what every run counted, whichever command started it.
const reportDir = process.env.TEST_REPORT_DIR
const report = reportDir && join(reportDir, `${process.pid}.json`)
// Loading the gateway's modules anew for each file took a fifth of the suite. No file may leave anything behind in them.
const isolate = false

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    // System tests start gateways and databases of their own: more at once than cores only makes them wait for each other.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: 'unit', include: ['packages/*/src/**/*.test.{ts,tsx}'], isolate, testTimeout: 30_000 } },
      {
        test: {
          name: 'system',
          include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
          isolate,
          globalSetup: ['packages/gateway/test/harness/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Its own second is too little for a machine that has other things to do; whoever fails waits no longer than this.
          expect: { poll: { timeout: 20_000 } },
          // A crowded CI machine is late now and then; what needed its second chance is shown as such.
          retry: process.env.CI ? 1 : 0,
        },
      },
    ],
  },
})
