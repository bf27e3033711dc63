import { readAuthorities } from '#process/certificate.ts'

/** One e-mail, as plain text and as HTML (multipart/alternative). */
export interface Mail {
  /** As in the header, or a name and its address. */
  from: string | { name: string; address: string }
  to: string
  replyTo?: string
  subject: string
  text: string
  html: string
  /** Pictures that the HTML shows as `cid:…`. */
  inline?: readonly { cid: string; content: Buffer; contentType: string }[]
  /** The same for every attempt, so that receivers recognise a second copy. */
  messageId: string
}

/** `rejected`: the mail server will never accept this recipient, so do not retry. */
export type MailOutcome = { kind: 'sent' } | { kind: 'failed'; message: string; rejected: boolean }

export interface MailServer {
  /** Never rejects because of the network or the mail server: their failures are outcomes. */
  send(mail: Mail): Promise<MailOutcome>
  /** Connects, encrypts and authenticates without sending. @returns the error message, if it fails */
  check(): Promise<string | undefined>
  close(): void
}

const CONNECT_MS = 10_000
/** For each answer of the server: a slow one may take minutes for an e-mail. */
const IDLE_MS = 30_000
/** How many e-mails are sent simultaneously. A further one waits for the end of another. */
export const CONNECTIONS = 2
/** Matches whole host names, so that `localhost.example.com` is not taken for loopback. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){1,3}|\[::1\])$/

/**
 * Creates the mail server's client. `smtps://` uses TLS from the start. `smtp://` requires STARTTLS, because an e-mail may
 * contain a sign-in link. There are two exceptions: loopback, and `?tls=none`, with which the operator declares the network
 * safe, so that STARTTLS is not used even if it is offered. Certificates are verified against the public authorities or
 * those of `?ca=FILE`. On loopback, where nobody can intercept, they are verified only with `?ca=FILE`: Debian's Postfix
 * offers STARTTLS with a self-signed certificate.
 */
export function createMailServer(url: string): MailServer {
  const parsed = new URL(url)
  const { protocol, hostname, port, username, password, searchParams } = parsed
  const caFile = searchParams.get('ca')
  const ca = caFile === null ? undefined : readAuthorities(caFile)
  const secure = protocol === 'smtps:'
  const options = {
    pool: true,
    maxConnections: CONNECTIONS,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && (ca !== undefined || !isPlaintextAllowed(parsed)),
    ignoreTLS: searchParams.get('tls') === 'none',
    tls: ca === undefined ? { rejectUnauthorized: secure || !isLoopback(parsed) } : { ca },
    ...(username ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } } : {}),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: IDLE_MS,
    // The content must never make the mailer read files or URLs.
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
  // nodemailer is loaded with the first e-mail, so a gateway without e-mail never loads it.
  let opened: ReturnType<typeof open> | undefined
  const open = async () => (await import('nodemailer')).createTransport(options)
  return {
    async send({ inline = [], ...mail }) {
      try {
        opened ??= open()
        const transport = await opened
        const attachments = inline.map((picture) => ({
          ...picture,
          filename: `${picture.cid}.png`,
          contentDisposition: 'inline' as const,
        }))
        await transport.sendMail({ ...mail, attachments, headers: { 'Auto-Submitted': 'auto-generated' } })
        return { kind: 'sent' }
      } catch (error) {
        const { responseCode, code, message } = error as Error & { responseCode?: number; code?: string }
        const rejected = code === 'EENVELOPE' && responseCode !== undefined && responseCode >= 500
        return { kind: 'failed', message: message.slice(0, MESSAGE_MAX), rejected }
      }
    },
    async check() {
      try {
        opened ??= open()
        await (await opened).verify()
        return undefined
      } catch (error) {
        return (error as Error).message.slice(0, MESSAGE_MAX)
      }
    },
    close: () => void opened?.then((transport) => transport.close()).catch(() => {}),
  }
}

export function isPlaintextAllowed(url: URL): boolean {
  return isLoopback(url) || url.searchParams.get('tls') === 'none'
}

function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}

const MESSAGE_MAX = 500
