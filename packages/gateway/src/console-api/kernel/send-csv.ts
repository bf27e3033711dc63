import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Answers a file to keep: a handler returns this, and the stream is sent as it is read. */
export function sendCsv(reply: FastifyReply, name: string, csv: Readable): string {
  reply.type('text/csv; charset=utf-8').header('Content-Disposition', `attachment; filename="${name}"`)
  return csv as unknown as string // its text, to the document of the interface
}
