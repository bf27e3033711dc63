import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Answers with a file to download. A handler returns the result, and the stream is sent while it is read. */
export function sendCsv(reply: FastifyReply, name: string, csv: Readable): string {
  reply.type('text/csv; charset=utf-8').header('Content-Disposition', `attachment; filename="${name}"`)
  return csv as unknown as string // the schema says text
}
