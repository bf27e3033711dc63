import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'
import { type FileTime, fileTime } from './slow-files.ts'

/** A test, the hooks of a group or of a file, or a run outside of its tests. `errors`: stack traces, or messages. */
interface Problem {
  where: string
  errors: string[]
}

/** The report for .ci/run: counts are summed over all runs, and problems are printed at the end. */
interface Report {
  passed: number
  failures: Problem[]
  passedAtSecondAttempt: Problem[]
  times: FileTime[]
}

/** Writes the result of a test run for .ci/run, with errors of hooks, which vitest's JSON report leaves out. */
export class CiReport implements Reporter {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const report: Report = { passed: 0, failures: [], passedAtSecondAttempt: [], times: modules.map(fileTime) }
    for (const module of modules) addModule(report, module)
    if (unhandledErrors.length > 0) report.failures.push(problem('outside of the tests', unhandledErrors))
    writeFileSync(this.#path, JSON.stringify(report))
  }
}

function addModule(report: Report, module: TestModule): void {
  const file = relative('', module.moduleId)
  for (const test of module.children.allTests()) {
    const { state, errors = [] } = test.result()
    const result = problem(`${file} > ${test.fullName}`, errors)
    if (state === 'failed') report.failures.push(result)
    if (state !== 'passed') continue
    report.passed += 1
    if (errors.length > 0) report.passedAtSecondAttempt.push(result)
  }
  for (const group of module.children.allSuites()) {
    const errors = group.errors()
    if (errors.length > 0) report.failures.push(problem(`${file} > hooks of ${group.fullName}`, errors))
  }
  const errors = module.errors()
  if (errors.length > 0) report.failures.push(problem(`${file} > the file or its hooks`, errors))
}

function problem(where: string, errors: readonly Pick<SerializedError, 'stack' | 'message'>[]): Problem {
  return { where, errors: errors.map(({ stack, message }) => stack ?? message) }
}
