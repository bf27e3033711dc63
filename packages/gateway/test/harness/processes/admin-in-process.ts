import { expect, vi } from 'vitest'
import { runAdmin } from '#cli/admin-program.ts'

/* Runs admin commands inside this process, with its environment variables. */

/** Runs one command as a separate process would. */
export async function admin(...args: string[]) {
  const output = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text, ...rest) => {
      output[stream] += String(text)
      const done = rest.at(-1)
      if (typeof done === 'function') done()
      return true
    }),
  )
  try {
    return { code: await runAdmin(args), ...output }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

/** Runs one command with these environment variables; called like the function in admin-process.ts. */
export async function adminWith(args: string[], env: Record<string, string>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    return await admin(...args)
  } finally {
    vi.unstubAllEnvs()
  }
}

/** The JSON document printed by a command that must succeed, run with these environment variables. */
export async function adminJsonWith<Document>(args: string[], env: Record<string, string>): Promise<Document> {
  const { code, stdout, stderr } = await adminWith([...args, '--json'], env)
  expect({ code, stderr }, stderr).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** The JSON document printed by a command that must succeed. */
export async function adminJson(...args: string[]) {
  const { code, stdout, stderr } = await admin(...args, '--json')
  expect({ code, stderr }, stderr).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** The message printed by a command that must fail. */
export function adminFailure(...args: string[]): Promise<string> {
  return stderrOf(1, args)
}

/** The message for a command line with a usage error. */
export function adminUsageError(...args: string[]): Promise<string> {
  return stderrOf(2, args)
}

async function stderrOf(expected: number, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await admin(...args)
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
  return stderr.trimEnd()
}
