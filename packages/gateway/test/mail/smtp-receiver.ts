import { type AddressInfo, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { TestCertificate } from '../harness/certificates.ts'

interface ReceivedMail {
  from: string
  to: string
  messageId: string
  subject: string
  text: string
  /** Whether it came after STARTTLS. */
  isEncrypted: boolean
}

export interface SmtpReceiver {
  url: string
  mails: ReceivedMail[]
  /** What it answers to a recipient, or to a mail's end, instead of 250; e.g. `451 try later`. */
  refuse: { rcpt?: string | undefined; data?: string | undefined }
  /** Of recipients offered, taken or not. */
  offered: string[]
  close(): Promise<void>
}

/**
 * As much of a mail server (RFC 5321) as a client needs that sends plain text.
 * @param certificate if given, the server offers STARTTLS
 */
export async function startSmtpReceiver(certificate?: TestCertificate): Promise<SmtpReceiver> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    socket.write('220 test\r\n')
    converse(socket, receiver, certificate)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: SmtpReceiver = {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails: [],
    refuse: {},
    offered: [],
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

function converse(socket: Socket, receiver: SmtpReceiver, certificate?: TestCertificate): void {
  const say = (line: string) => void socket.write(`${line}\r\n`)
  let from = ''
  let to = ''
  let data: string[] | undefined
  let rest = ''
  const hear = (line: string) => {
    if (data !== undefined) {
      if (line !== '.') return void data.push(line.replace(/^\.\./, '.'))
      if (!receiver.refuse.data)
        receiver.mails.push({ from, to, isEncrypted: socket instanceof TLSSocket, ...parsed(data) })
      data = undefined
      return say(receiver.refuse.data ?? '250 taken')
    }
    const [, command = ''] = /^(\w+)/.exec(line) ?? []
    switch (command.toUpperCase()) {
      case 'EHLO':
        return say(certificate ? '250-test\r\n250 STARTTLS' : '250 test')
      case 'STARTTLS': {
        say('220 go on')
        socket.removeAllListeners('data')
        const encrypted = new TLSSocket(socket, { isServer: true, ...certificate })
        return converse(
          encrypted.on('error', () => {}),
          receiver,
        )
      }
      case 'MAIL':
        from = /<([^>]*)>/.exec(line)?.[1] ?? ''
        return say('250 fine')
      case 'RCPT':
        to = /<([^>]*)>/.exec(line)?.[1] ?? ''
        receiver.offered.push(to)
        return say(receiver.refuse.rcpt ?? '250 fine')
      case 'DATA':
        data = []
        return say('354 go on')
      case 'QUIT':
        say('221 bye')
        return void socket.end()
      default:
        return say('250 fine')
    }
  }
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    for (const line of lines) hear(line)
  })
}

function parsed(lines: string[]): Omit<ReceivedMail, 'from' | 'to' | 'isEncrypted'> {
  const end = lines.indexOf('')
  const headers = lines.slice(0, end).join('\n').replace(/\n\s+/g, ' ')
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(headers)?.[1] ?? ''
  const body = lines.slice(end + 1).join('\n')
  const encoding = header('Content-Transfer-Encoding')
  return { messageId: header('Message-ID'), subject: header('Subject'), text: decoded(body, encoding) }
}

function decoded(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding !== 'quoted-printable') return body
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
