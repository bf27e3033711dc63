import { execFileSync } from 'node:child_process'

/** True if these programs are installed. Otherwise prints a conspicuous warning that lists the skipped tests. */
export function canRun(what: string, ...programs: string[]): boolean {
  const missing = programs.filter((program) => !isInstalled(program))
  if (missing.length === 0) return true
  const line = '!'.repeat(80)
  console.warn(`\n${line}\nNOT RUN: ${what}. Not installed: ${missing.join(', ')}.\n${line}\n`)
  return false
}

export function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
