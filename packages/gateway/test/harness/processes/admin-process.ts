import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'
import { buildGateway, recordingEnv } from './gateway-process.ts'

export interface AdminRun {
  code: number | null
  stdout: string
  stderr: string
}

/**
 * Runs one admin command in a separate process, as `npm run -s admin -- …` does. Starting the process costs a hundred times
 * more than most commands: to test what a command does, use admin-in-process.ts.
 */
export function admin(args: string[], env: Record<string, string>, nodeOptions: string[] = []): Promise<AdminRun> {
  buildGateway()
  return run([...nodeOptions, join(packageRoot(), 'dist/admin.js'), ...args], env)
}

function run(argv: string[], env: Record<string, string>): Promise<AdminRun> {
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env
  const child = spawn(process.execPath, argv, {
    env: { PATH, HOME, TMPDIR, ...recordingEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** The JSON document of a command that must succeed. @param program of another release */
export async function adminJson<Answer>(
  args: string[],
  env: Record<string, string>,
  program?: string,
): Promise<Answer> {
  const { code, stdout, stderr } = await (program === undefined
    ? admin([...args, '--json'], env)
    : run([program, ...args, '--json'], env))
  if (code !== 0) throw new Error(`admin ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as Answer
}
