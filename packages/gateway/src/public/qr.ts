import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/postgres/db.ts'
import { findQrContent } from '../profiles/qr/content.ts'
import { qrPng, qrSvg } from '../profiles/qr/picture.ts'
import { QR_PAGE_POLICY, qrPage } from './qr-page.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'x-content-type-options': 'nosniff',
}

/**
 * `/qr/TOKEN` shows the QR picture of an eSIM that waits to be installed and the other ways to install it,
 * `/qr/TOKEN.svg` and `/qr/TOKEN.png` are the picture alone. Anything else, once installed or cancelled included, is 404: nothing tells the two apart.
 */
export function qrRoutes(
  app: FastifyInstance,
  deps: { db: Db; cipher: Pick<Cipher, 'decrypt'>; linkKey: Buffer },
): void {
  app.get<{ Params: { name: string } }>('/qr/:name', async (request, reply) => {
    reply.headers(HEADERS)
    const [, token = '', form] = /^([A-Za-z0-9_-]+)(\.svg|\.png)?$/.exec(request.params.name) ?? []
    const found = await findQrContent(deps, token)
    if (found === undefined) return notFound(reply)
    if (form === '.svg') return reply.type('image/svg+xml').send(qrSvg(found.ac))
    if (form === '.png') return reply.type('image/png').send(qrPng(found.ac))
    reply.header('content-security-policy', QR_PAGE_POLICY)
    return reply.type('text/html; charset=utf-8').send(qrPage(token, found))
  })
}

function notFound(reply: FastifyReply) {
  return reply
    .code(404)
    .type('text/plain; charset=utf-8')
    .send('There is nothing to install here: the eSIM is installed or cancelled, or the link is not complete.\n')
}
