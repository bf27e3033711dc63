import { createMailServer } from '../lib/outbound/smtp.ts'
import type { Finding, Findings, Patient } from './finding.ts'

export async function checkMail({ config }: Patient, say: Findings): Promise<Finding[]> {
  const { smtpUrl, deployment } = config
  if (smtpUrl === undefined) {
    if (deployment === 'local') return []
    return [say.ok('No mail server is configured: notices and invitations are shown on the console only.')]
  }
  const server = createMailServer(smtpUrl)
  const words = await server.check()
  server.close()
  return [
    words === undefined
      ? say.ok('The mail server lets us in.')
      : say.fault(
          `The mail server of SMTP_URL cannot be used: ${words}. Correct SMTP_URL, or let this machine reach it.`,
        ),
  ]
}
