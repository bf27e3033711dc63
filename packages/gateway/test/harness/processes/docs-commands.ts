import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'

/** The code blocks in one language on a Markdown page. */
export function codeBlocks(markdown: string, language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')
  return [...markdown.matchAll(fenced)].map(([, block = '']) => block)
}

/** Runs a page's commands in bash until one fails. npm's own messages are removed. */
export function bash(script: string, options: { cwd: string; env: NodeJS.ProcessEnv }) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile('bash', ['--norc', '-euo', 'pipefail', '-c', script], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr: stderr.replace(/^npm .*\n/gm, '') })
    })
  })
}

/**
 * A PATH with a fake npm for a page's commands: `npm run -s admin -- …` runs the command from package.json directly,
 * because npm takes longer than most commands. Every other npm command fails.
 */
export function fakeNpmPath(folder: string): string {
  const { scripts } = JSON.parse(readFileSync(join(packageRoot(), '../../package.json'), 'utf8'))
  const bin = join(folder, 'fake-npm')
  mkdirSync(bin, { recursive: true })
  const script = `#!/bin/sh
[ "$1 $2 $3 $4" = 'run -s admin --' ] || { echo "npm $*: the fake npm runs admin commands only" >&2; exit 64; }
shift 4
${scripts.admin} "$@"
`
  writeFileSync(join(bin, 'npm'), script, { mode: 0o755 })
  return `${bin}${delimiter}${process.env.PATH}`
}
