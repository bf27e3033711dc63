import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { findQr } from '../profiles/qr.ts'
import { qrPng, qrSvg } from '../profiles/qr-picture.ts'
import { escapeHtml } from './escape-html.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'x-content-type-options': 'nosniff',
}
const PAGE_POLICY = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/**
 * `/qr/TOKEN` shows the QR picture of an eSIM that waits to be installed, `/qr/TOKEN.svg` and `/qr/TOKEN.png` are the
 * picture alone. Anything else, once installed or cancelled included, is 404: nothing tells the two apart.
 */
export function qrRoutes(
  app: FastifyInstance,
  deps: { db: Db; cipher: Pick<Cipher, 'decrypt'>; linkKey: Buffer },
): void {
  app.get<{ Params: { name: string } }>('/qr/:name', async (request, reply) => {
    reply.headers(HEADERS)
    const [, token = '', form] = /^([A-Za-z0-9_-]+)(\.svg|\.png)?$/.exec(request.params.name) ?? []
    const found = await findQr(deps, token)
    if (found === undefined) return notFound(reply)
    if (form === '.svg') return reply.type('image/svg+xml').send(qrSvg(found.ac))
    if (form === '.png') return reply.type('image/png').send(qrPng(found.ac))
    reply.header('content-security-policy', PAGE_POLICY)
    return reply.type('text/html; charset=utf-8').send(page(token, found))
  })
}

function notFound(reply: FastifyReply) {
  return reply
    .code(404)
    .type('text/plain; charset=utf-8')
    .send('There is nothing to install here: the eSIM is installed or cancelled, or the link is not complete.\n')
}

/** Links are relative, so that a path prefix of a proxy does not matter. */
function page(token: string, { packageName, iccid }: { packageName: string; iccid: string }): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>Install your eSIM</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 2rem auto; padding: 0 1rem; text-align: center }
  img { width: 100%; max-width: 20rem; background: #fff }
  small { color: #555 }
</style>
<h1>${escapeHtml(packageName)}</h1>
<p><img src="${token}.svg" alt="QR code that installs the eSIM"></p>
<p>On the phone, add a mobile plan and scan this code. It can be installed once.</p>
<p><small>ICCID ${escapeHtml(iccid)} · <a href="${token}.png" download="esim.png">save as picture</a></small></p>
</html>
`
}
