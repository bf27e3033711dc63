import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { integer } from '../arguments.ts'
import type { Context } from '../context.ts'
import { readSecret } from '../credentials.ts'
import { AlreadyReported, CommandFailed, EXIT } from '../exit-codes.ts'
import { type Paint, printable } from '../output.ts'
import { diagnose, expectedAnswer, type Finding } from './diagnose.ts'
import { readRequest } from './request-text.ts'

/** `verify`: finds the check that a request fails, and explains it. */
export function verifyCommand(program: Command, context: () => Context): void {
  program
    .command('verify')
    .description('explain why a request or an event fails: the failing check and its cause')
    .argument(
      '[file]',
      'header lines, an empty line and the body, or the output of curl -v; - or nothing reads standard input',
    )
    .option('--body <file>', 'read the body from this file, byte for byte')
    .option(
      '--at <milliseconds>',
      'check the timestamp against this time instead of now',
      integer(0, 9_999_999_999_999),
    )
    .addHelpText('after', VERIFY_HELP)
    .action(async (file: string | undefined, options: { body?: string; at?: number }) => {
      const { io, print, paint } = context()
      const text = file === undefined || file === '-' ? await io.stdin() : readOrFail(file)
      const request = readRequest(text)
      if (request === undefined) {
        throw new CommandFailed(
          'This is not a request. Give header lines, an empty line and the body, or JSON {"headers", "body"}.',
          EXIT.USAGE,
        )
      }
      if (options.body !== undefined) request.body = readOrFail(options.body)
      else if (request.bodyMissing) {
        throw new CommandFailed('curl -v does not show the body that it sent: add --body FILE.', EXIT.USAGE)
      }
      const findings = await diagnose(request, { ...readSecret(io), nowMs: options.at ?? Date.now() })
      const passed = findings.every((finding) => finding.passed !== false)
      const answer = expectedAnswer(findings)
      print(report(findings, paint), { passed, ...(answer ? { code: answer.code } : {}), findings })
      if (!passed) throw new AlreadyReported(EXIT.REFUSED)
    })
}

function report(findings: readonly Finding[], { red, green, yellow, dim }: Paint): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const marks = { true: green('✓'), false: red('✗'), undefined: yellow('?') }
  const lines = findings.map(({ check, passed, words }) => {
    const mark = marks[String(passed) as keyof typeof marks]
    return `${mark} ${check.padEnd(width)}  ${printable(words)}\n`
  })
  const answer = expectedAnswer(findings)
  const failed = findings.find((finding) => finding.passed === false)
  if (failed === undefined) return `${lines.join('')}No fault found by the checks that can be made here.\n`
  const verdict = answer ? `The gateway answers ${answer.code}.\n${dim(`${answer.remedy}\n`)}` : ''
  return lines.join('') + verdict
}

function readOrFail(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CommandFailed(`Cannot read ${file}: ${(error as Error).message}.`, EXIT.USAGE)
  }
}

const VERIFY_HELP = `
The AppSecret is read from DEALER_ESIM_APP_SECRET or from the local gateway. Nothing is sent.

Examples:
  $ dealer-esim verify request.txt
  $ curl -v … --data-binary @body.json 2>&1 | dealer-esim verify - --body body.json
  $ dealer-esim verify event.txt --at 1700000000000`
