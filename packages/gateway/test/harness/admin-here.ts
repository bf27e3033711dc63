import { expect, vi } from 'vitest'
import { runAdmin } from '../../src/admin/program.ts'

/* Admin commands in this process, which has their environment variables. */

/** One command, as in a process of its own but for the process. */
export async function admin(...args: string[]) {
  const told = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      told[stream] += String(text)
      return true
    }),
  )
  try {
    return { code: await runAdmin(args), ...told }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

/** The same, called as a process is (admin-process.ts): with an environment, which is taken back. */
export async function adminWith(args: string[], env: Record<string, string>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    return await admin(...args)
  } finally {
    vi.unstubAllEnvs()
  }
}

/** A command with --json that must succeed. @returns its one document */
export async function jsonWith<Document>(args: string[], env: Record<string, string>): Promise<Document> {
  const { code, stdout, stderr } = await adminWith([...args, '--json'], env)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** The JSON document of a command that must succeed. */
export async function json(...args: string[]) {
  const { code, stdout, stderr } = await admin(...args, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** What a command that must fail says. */
export function failure(...args: string[]): Promise<string> {
  return stderrOf(1, args)
}

/** What is said of a command line that cannot be understood. */
export function usageError(...args: string[]): Promise<string> {
  return stderrOf(2, args)
}

async function stderrOf(expected: number, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await admin(...args)
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
  return stderr.trimEnd()
}
