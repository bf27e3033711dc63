import { type Notification, REQUEST_HEADERS } from '@dealer-esim/contract'
import type { Exchange } from '#attempt.ts'
import type { Context } from '../context.ts'
import { pairs, printable } from '../output.ts'

/** The tour's output: printed step by step, or with --json as one document at the end. */
export interface TourLog {
  step(operation: string, words: string): void
  note(words: string): void
  event(event: Notification, line: string): void
  /** Receives each exchange of the client. */
  observe(exchange: Exchange): void
  /** Runs calls whose exchanges are not shown. */
  quietly<T>(work: () => Promise<T>): Promise<T>
  end(): void
}

interface Step {
  operation: string
  words: string
  request: { url: string; headers: Record<string, string>; body: string }
  stringToSign: string
  answer: { status: number; body: unknown } | null
}

export function tourLog({ io, json, paint }: Context): TourLog {
  const steps: Step[] = []
  const events: Notification[] = []
  let current = { number: 0, operation: '', words: '' }
  let quiet = false
  let requestShown = false
  const print = (text: string) => {
    if (!json) io.out(text)
  }
  return {
    step(operation, words) {
      current = { number: current.number + 1, operation, words }
      requestShown = false
      print(`\n${paint.bold(`${current.number}. ${operation}`)}  ${words}\n`)
    },
    note: (words) => print(`   ${paint.yellow(printable(words))}\n`),
    event(event, line) {
      events.push(event)
      print(`   ${paint.green('✓')} event, signature verified: ${line}\n${indent(JSON.stringify(event, null, 2))}\n`)
    },
    observe(exchange) {
      if (quiet) return
      const { operation, words } = current
      const { url, headers, body, stringToSign, answer, durationMs } = exchange
      const shown = answer && { status: answer.status, body: parsed(answer.body) }
      steps.push({ operation, words, request: { url, headers, body }, stringToSign, answer: shown ?? null })
      const took = paint.dim(`(${durationMs.toFixed(0)} ms)`)
      // A step that repeats its request shows the request once, and each further answer on one line.
      if (requestShown) return print(`   ${answer?.status ?? 'no answer'} ${took} ${brief(shown?.body)}\n`)
      requestShown = true
      const signed = Object.values(REQUEST_HEADERS).map((name) => [name, headers[name]] as const)
      print(`   POST ${url}\n${pairs(signed, '   ')}\n${indent(body)}\n\n`)
      print(`   ${paint.dim('string to sign')}\n   ${stringToSign}\n\n`)
      print(`   ${answer?.status ?? 'no answer'} ${took}\n${indent(excerpt(shown?.body))}\n`)
    },
    async quietly(work) {
      quiet = true
      try {
        return await work()
      } finally {
        quiet = false
      }
    },
    end() {
      if (json) io.out(`${JSON.stringify({ steps, events }, null, 2)}\n`)
      else print(`\n${paint.green('Done.')} docs/quick-start.md, served at /docs, explains each step.\n`)
    },
  }
}

const LINES_MAX = 60

/** Shows only the beginning of long answers, such as a list of packages. */
function excerpt(body: unknown): string {
  const lines = (JSON.stringify(body, null, 2) ?? '').split('\n')
  if (lines.length <= LINES_MAX) return lines.join('\n')
  return [...lines.slice(0, LINES_MAX), `… ${lines.length - LINES_MAX} more lines`].join('\n')
}

function brief(body: unknown): string {
  const { data } = (body ?? {}) as { data?: { orderStatus?: unknown } }
  return typeof data?.orderStatus === 'string' ? printable(data.orderStatus) : ''
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `   ${printable(line)}`)
    .join('\n')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
