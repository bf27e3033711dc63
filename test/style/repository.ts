import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** Written by a command, not by people. */
const GENERATED = new Set([
  'packages/gateway/schema.sql',
  'docs/openapi.json',
  'docs/openapi-rt.json',
  'docs/postman.json',
  'docs/postman-environment.json',
  'sdks/php/src/Operations.php',
  'package-lock.json',
  ...['models.py', 'operations.py', 'refusals.py'].map((name) => `sdks/python/src/dealer_esim/${name}`),
])

const GENERATED_FOLDERS = /^sdks\/php\/src\/(Model|Refusal)\//

/** Paths from the root of every file that git tracks or would add, without generated ones. */
export function listFiles(pattern: RegExp): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  })
  const deleted = execFileSync('git', ['ls-files', '--deleted'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
  const gone = new Set(deleted)
  return listed
    .split('\n')
    .filter((path) => pattern.test(path) && !GENERATED.has(path) && !GENERATED_FOLDERS.test(path) && !gone.has(path))
}

export function readLines(path: string): string[] {
  return readFileSync(join(ROOT, path), 'utf8').split('\n')
}
