/** One e-mail, in plain text. */
export interface Mail {
  from: string
  to: string
  subject: string
  text: string
  /** The same each time that it is tried: receivers know a second copy by it. */
  messageId: string
}

/** What a mail server said. `rejected`: this recipient will never be taken, and trying again is rude. */
export type MailOutcome = { kind: 'sent' } | { kind: 'failed'; message: string; rejected: boolean }

export interface MailServer {
  /** Never rejects for what the network or the mail server does: that is data. */
  send(mail: Mail): Promise<MailOutcome>
  /** Connects, encrypts and signs in, without sending. @returns what is wrong, in the mail server's or the network's words */
  check(): Promise<string | undefined>
  close(): void
}

const CONNECT_MS = 10_000
/** Together well below the lease of a mail (mail/send.ts). */
const IDLE_MS = 30_000
const CONNECTIONS = 2
/** Whole: a name that only begins like it is somebody else. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){1,3}|\[::1\])$/

/**
 * `smtps://` is TLS from the start. `smtp://` demands STARTTLS, for a mail may hold a link that lets its reader in; not
 * on loopback, nor where `?tls=none` says that the way to the mail server is safe.
 */
export function createMailServer(url: string): MailServer {
  const parsed = new URL(url)
  const { protocol, hostname, port, username, password } = parsed
  const secure = protocol === 'smtps:'
  const options = {
    pool: true,
    maxConnections: CONNECTIONS,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && !mayBePlain(parsed),
    ...(username ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } } : {}),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: IDLE_MS,
    // A text never makes the mailer read files or addresses.
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
  // Loaded with the first mail: a gateway without e-mail does without it.
  let opened: ReturnType<typeof open> | undefined
  const open = async () => (await import('nodemailer')).createTransport(options)
  return {
    async send(mail) {
      try {
        opened ??= open()
        const transport = await opened
        await transport.sendMail({ ...mail, headers: { 'Auto-Submitted': 'auto-generated' } })
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

export function mayBePlain({ hostname, searchParams }: URL): boolean {
  return LOOPBACK.test(hostname) || searchParams.get('tls') === 'none'
}

const MESSAGE_MAX = 500
