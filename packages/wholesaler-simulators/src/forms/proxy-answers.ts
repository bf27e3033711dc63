import type { Answer, Refusal, Wholesaler } from '#wholesaler.ts'

/* Answers of a proxy, or of a framework, in front of an interface: the request did not reach the interface, or failed in it. */

export const FRAMEWORK_ERROR: Answer = { status: 500, body: { message: 'Server Error' } }

const OF_REFUSAL: Partial<Record<Refusal, Answer>> = {
  'rate-limited': { status: 429, body: { message: 'Too Many Attempts.' } },
  down: page(502, 'Bad gateway | Cloudflare'),
  unauthorized: page(403, 'Attention Required! | Cloudflare'),
}

function page(status: number, title: string): Answer {
  const body = `<!DOCTYPE html><html><head><title>${title}</title></head><body></body></html>`
  return { status, headers: { 'Content-Type': 'text/html' }, body }
}

/** The wholesaler behind such a proxy. A status to which the interface itself gives another meaning stays unchanged. */
export function behindProxy(wholesaler: Wholesaler): Wholesaler {
  return {
    ...wholesaler,
    refuse(reason, message, code) {
      const own = wholesaler.refuse(reason, message, code)
      const isOwnStatus = wholesaler.refuse('out-of-stock', message).status === OF_REFUSAL[reason]?.status
      return isOwnStatus ? own : (OF_REFUSAL[reason] ?? own)
    },
  }
}
