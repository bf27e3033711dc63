import { request } from 'node:http'
import { request as requestByTls } from 'node:https'
import type { Faults } from './faults.ts'
import type { EventMessage } from './wholesaler.ts'

/** One event and its outcome. */
export interface EventRecord {
  body: unknown
  /** How often it was sent. */
  sent: number
  /** HTTP status of the last answer; null before the first answer. */
  status: number | null
}

/** Sends events to the buyer's URL: up to three times each, until the answer is 2xx. */
export class Events {
  url: string | null = null
  /** Events go out only if the URL answers HEAD with 2xx. */
  needsHead = false
  records: EventRecord[] = []
  readonly #faults: Faults
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(faults: Faults) {
    this.#faults = faults
  }

  send(messages: EventMessage[]): void {
    if (this.url === null) return
    for (const message of messages) {
      const record: EventRecord = { body: message.body, sent: 0, status: null }
      this.records.push(record)
      const content = message.text ?? JSON.stringify(message.body)
      const kinds = this.#faults.take('event', content).map(({ kind }) => kind)
      if (kinds.includes('event-lost')) continue
      const copies = kinds.includes('event-twice') ? 2 : 1
      for (let copy = 0; copy < copies; copy += 1) void this.#send(message, content, record, this.url, 1)
    }
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.url = null
  }

  async #send(message: EventMessage, content: string, record: EventRecord, url: string, attempt: number) {
    if (this.needsHead && !isSuccess(await call(url, 'HEAD', {}))) return
    record.sent += 1
    record.status = await call(url, 'POST', { 'Content-Type': 'application/json', ...message.headers }, content)
    if (isSuccess(record.status) || attempt === ATTEMPTS_MAX || this.url === null) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void this.#send(message, content, record, url, attempt + 1)
    }, RETRY_AFTER_MS)
    timer.unref()
    this.#timers.add(timer)
  }
}

const ATTEMPTS_MAX = 3
const RETRY_AFTER_MS = 500
const TIMEOUT_MS = 5_000

/**
 * A gateway on this machine has its own certificate, so certificates are not checked: events contain nothing secret.
 * @returns the HTTP status, null without an answer or if the URL cannot be called
 */
function call(url: string, method: string, headers: Record<string, string>, content?: string): Promise<number | null> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return Promise.resolve(null)
  const send = new URL(url).protocol === 'https:' ? requestByTls : request
  const options = { method, headers, timeout: TIMEOUT_MS, agent: false, rejectUnauthorized: false } as const
  return new Promise((resolve) => {
    const outgoing = send(url, options, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? null))
      response.on('error', () => resolve(null))
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => resolve(null))
    outgoing.end(content)
  })
}

function isSuccess(status: number | null) {
  return status !== null && status >= 200 && status < 300
}
