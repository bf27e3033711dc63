import { type AddressInfo, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { TestCertificate } from './certificates.ts'

interface ReceivedMail {
  from: string
  to: string
  /** The headers From and Reply-To. */
  sender: string
  replyTo: string
  messageId: string
  /** The Auto-Submitted header; '' if it was not sent. */
  autoSubmitted: string
  subject: string
  text: string
  html: string
  /** Pictures in the e-mail, by content id. */
  pictures: Record<string, Buffer>
  /** True if it was sent after STARTTLS. */
  isEncrypted: boolean
}

export interface SmtpReceiver {
  url: string
  mails: ReceivedMail[]
  /** Replies to a recipient or to the end of an e-mail that replace 250, such as `451 try later`. */
  refusals: { rcpt?: string | undefined; data?: string | undefined }
  /** While it is pending, the server answers no e-mail that it has received. */
  answersAfter: Promise<void> | undefined
  /** All recipients, accepted or not. */
  recipients: string[]
  close(): Promise<void>
}

/**
 * A mail server (RFC 5321) with the commands that plain-text clients need.
 * @param certificate if given, the server offers STARTTLS
 */
export async function startSmtpReceiver(certificate?: TestCertificate): Promise<SmtpReceiver> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    socket.write('220 test\r\n')
    serveClient(socket, receiver, certificate)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: SmtpReceiver = {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails: [],
    refusals: {},
    answersAfter: undefined,
    recipients: [],
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

function serveClient(socket: Socket, receiver: SmtpReceiver, certificate?: TestCertificate): void {
  const reply = (line: string) => void socket.write(`${line}\r\n`)
  let from = ''
  let to = ''
  let data: string[] | undefined
  let rest = ''
  const handleLine = (line: string) => {
    if (data !== undefined) {
      if (line !== '.') return void data.push(line.replace(/^\.\./, '.'))
      if (!receiver.refusals.data)
        receiver.mails.push({ from, to, isEncrypted: socket instanceof TLSSocket, ...parsed(data) })
      data = undefined
      const answer = receiver.refusals.data ?? '250 accepted'
      return void (receiver.answersAfter ? receiver.answersAfter.then(() => reply(answer)) : reply(answer))
    }
    const [, command = ''] = /^(\w+)/.exec(line) ?? []
    switch (command.toUpperCase()) {
      case 'EHLO':
        return reply(certificate ? '250-test\r\n250 STARTTLS' : '250 test')
      case 'STARTTLS': {
        reply('220 go on')
        socket.removeAllListeners('data')
        const encrypted = new TLSSocket(socket, { isServer: true, ...certificate })
        return serveClient(
          encrypted.on('error', () => {}),
          receiver,
        )
      }
      case 'MAIL':
        from = /<([^>]*)>/.exec(line)?.[1] ?? ''
        return reply('250 ok')
      case 'RCPT':
        to = /<([^>]*)>/.exec(line)?.[1] ?? ''
        receiver.recipients.push(to)
        return reply(receiver.refusals.rcpt ?? '250 ok')
      case 'DATA':
        data = []
        return reply('354 continue')
      case 'QUIT':
        reply('221 bye')
        return void socket.end()
      default:
        return reply('250 ok')
    }
  }
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    for (const line of lines) handleLine(line)
  })
}

function parsed(lines: string[]): Omit<ReceivedMail, 'from' | 'to' | 'isEncrypted'> {
  const { header, body } = parsePart(lines)
  const boundary = /^multipart\/alternative;.*boundary="([^"]+)"/.exec(header('Content-Type'))?.[1]
  const read = boundary === undefined ? [] : partsOf(body, boundary)
  const contentOf = (type: string) => {
    const part = read.find((one) => one.header('Content-Type').startsWith(type))
    return part ? decoded(part.body, part.header('Content-Transfer-Encoding')) : ''
  }
  const identity = {
    messageId: header('Message-ID'),
    autoSubmitted: header('Auto-Submitted'),
    subject: decodedWords(header('Subject')),
    sender: header('From'),
    replyTo: header('Reply-To'),
  }
  const pictures = Object.fromEntries(
    read
      .filter((part) => part.header('Content-ID') !== '')
      .map((part) => [part.header('Content-ID').replaceAll(/[<>]/g, ''), Buffer.from(part.body, 'base64')]),
  )
  return { ...identity, pictures, text: contentOf('text/plain'), html: contentOf('text/html') }
}

/** The parts of an e-mail, with those of its parts. */
function partsOf(body: string, boundary: string): ReturnType<typeof parsePart>[] {
  const parts = body.split(`--${boundary}`).slice(1, -1)
  return parts
    .map((part) => parsePart(part.replace(/^\n/, '').split('\n')))
    .flatMap((part) => {
      const inner = /^multipart\/related;.*boundary="([^"]+)"/.exec(part.header('Content-Type'))?.[1]
      return inner === undefined ? [part] : partsOf(part.body, inner)
    })
}

/** The headers of an e-mail or of one of its parts, and the lines after them. */
function parsePart(lines: string[]) {
  const end = lines.indexOf('')
  const headers = lines.slice(0, end).join('\n').replace(/\n\s+/g, ' ')
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(headers)?.[1] ?? ''
  return { header, body: lines.slice(end + 1).join('\n') }
}

/** The text of a header's encoded words (RFC 2047): `=?UTF-8?Q?caf=C3=A9?=`. White space between two of them is dropped. */
function decodedWords(text: string): string {
  const bytesOf = (encoding: string, word: string) =>
    encoding.toUpperCase() === 'B'
      ? Buffer.from(word, 'base64')
      : Buffer.from(unescaped(word.replaceAll('_', ' ')), 'latin1')
  return text.replace(/=\?utf-8\?[bq]\?[^?]*\?=(\s+=\?utf-8\?[bq]\?[^?]*\?=)*/gi, (words) =>
    Buffer.concat(
      [...words.matchAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi)].map(([, encoding, word]) => bytesOf(encoding!, word!)),
    ).toString(),
  )
}

/** `=C3` as the byte that it stands for. */
function unescaped(text: string): string {
  return text.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function decoded(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding !== 'quoted-printable') return body
  return Buffer.from(unescaped(body.replace(/=\n/g, '')), 'latin1').toString()
}
