import { execFile } from 'node:child_process'

/** The blocks of one language in a page of Markdown. */
export function blocksOf(markdown: string, language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')
  return [...markdown.matchAll(fenced)].map(([, block = '']) => block)
}

/** Runs commands of a page as its reader's shell does, up to one that fails. What npm says for itself is left out. */
export function bash(script: string, options: { cwd: string; env: NodeJS.ProcessEnv }) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile('bash', ['--norc', '-euo', 'pipefail', '-c', script], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr: stderr.replace(/^npm .*\n/gm, '') })
    })
  })
}
