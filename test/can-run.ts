import { execFileSync } from 'node:child_process'

/** Whether these programs are on this machine. Where one is missing, it is said loudly what is not run for it. */
export function canRun(what: string, ...programs: string[]): boolean {
  const missing = programs.filter((program) => !isThere(program))
  if (missing.length === 0) return true
  const line = '!'.repeat(80)
  console.warn(`\n${line}\nNOT RUN: ${what}. ${missing.join(', ')} is missing here.\n${line}\n`)
  return false
}

function isThere(program: string): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
