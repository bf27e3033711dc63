import { createMailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { Counter } from '@platformatic/prom-client'
import type { Deps } from '#deps.ts'
import { consoleUrlOf } from '#people/personal-link.ts'
import { queueAlertMails } from './queue-alerts.ts'
import { sendDueMails } from './send-mail.ts'

/** Each pass costs two index probes. The interval is short because people are waiting for their links. */
const POLL_MS = 1_000
/** Where the console shows a test twin. */
const TEST_PAGES = '/test'

type LoopDeps = Pick<Deps, 'config' | 'db' | 'ids' | 'cipher' | 'databaseClock' | 'log' | 'loops' | 'metrics' | 'links'>

/**
 * Queues e-mails for new alerts and sends the due ones. Without SMTP_URL nothing is queued, and no loop runs, except for test
 * twins, whose e-mails are kept.
 * @param live of the test twins: where the people of their dealers are
 */
export function mailLoop(deps: LoopDeps, live?: Pick<Deps, 'db'>): Running | undefined {
  const { config, links, metrics } = deps
  const isTest = config.mode === 'TEST'
  if (config.smtpUrl === undefined && !isTest) return undefined
  const mails = new Counter({
    name: 'dealer_esim_mails_total',
    help: 'Attempts to send an e-mail, by outcome: sent, failed (will be tried again) or given_up',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  for (const outcome of ['sent', 'failed', 'given_up']) mails.inc({ outcome }, 0)
  const server = isTest ? undefined : createMailServer(config.smtpUrl!)
  const consoleUrl = () => consoleUrlOf(links) + (isTest ? TEST_PAGES : '')
  const mailDeps = { ...deps, mailServer: server, consoleUrl, ...(live && { people: live.db }) }
  const loop = runLoop(deps, 'mail', POLL_MS, async () => {
    const moreAlerts = await queueAlertMails(mailDeps)
    const { outcomes, more } = await sendDueMails(mailDeps)
    for (const outcome of outcomes) mails.inc({ outcome })
    return moreAlerts || more
  })
  return {
    async stop(deadlineMs) {
      await loop.stop(deadlineMs)
      server?.close()
    },
  }
}
