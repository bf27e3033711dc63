import { describeCause } from '#attempt.ts'

/** The end of a purchase, as the integration sees it. PENDING: not known yet, or not delivered yet. */
const BELIEVED_STATUSES = ['PENDING', 'DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'REFUSED'] as const
type BelievedStatus = (typeof BELIEVED_STATUSES)[number]

/** What the integration believes about one purchase: `{"status":"DELIVERED","esims":1,"refundedAmount":0,"handedOver":1}`. */
export interface Belief {
  /** REFUSED: nothing was debited. FAILED: debited, and refunded in full. */
  status: BelievedStatus
  /** eSIMs that it has for its customer. */
  esims: number
  /** In 1/10 000 of the currency. */
  refundedAmount: number
  /** How often it has handed the eSIMs over to the customer, such as by mail. */
  handedOver: number
}

interface PurchaseRequest {
  reference: string
  packageCode: string
  count: number
  /** The price of one eSIM that the customer was shown. */
  price: number
}

/** The dealer's integration: one endpoint for commands, and its own route for events. */
export interface Integration {
  /** Buys as at its checkout. The answer says nothing about the outcome. */
  order(request: PurchaseRequest): Promise<void>
  /** Runs the job that repeats purchases whose outcome is open. */
  settle(): Promise<void>
  believed(reference: string): Promise<Belief>
  /** Posts an event to its route. @returns the HTTP status */
  event(signed: { headers: Record<string, string>; body: string }): Promise<number>
}

/** The integration does not answer as the page says; the message says what is wrong. */
export class IntegrationFault extends Error {
  override readonly name = 'IntegrationFault'
}

/** An SDK may make four attempts of 30 s. */
const ANSWER_MAX_MS = 150_000

export function reachIntegration(endpoint: string, eventsUrl: string): Integration {
  const command = async (body: object): Promise<unknown> => {
    const headers = { 'Content-Type': 'application/json' }
    const response = await post(endpoint, { headers, body: JSON.stringify(body) })
    const text = await response.text()
    if (!response.ok) {
      throw new IntegrationFault(
        `${endpoint} answered ${response.status} to ${JSON.stringify(body)}: ${text.slice(0, 200)}`,
      )
    }
    return text === '' ? undefined : parse(text)
  }
  return {
    order: async (request) => void (await command({ command: 'order', ...request })),
    settle: async () => void (await command({ command: 'settle' })),
    believed: async (reference) => checkBelief(await command({ command: 'believed', reference })),
    async event(signed) {
      const response = await post(eventsUrl, signed)
      await response.body?.cancel()
      return response.status
    },
  }
}

async function post(url: string, { headers, body }: { headers: Record<string, string>; body: string }) {
  try {
    const signal = AbortSignal.timeout(ANSWER_MAX_MS)
    return await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
  } catch (error) {
    throw new IntegrationFault(`${url} cannot be reached: ${describeCause(error).message}`)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function checkBelief(value: unknown): Belief {
  const { status, esims, refundedAmount, handedOver } = (value ?? {}) as Record<keyof Belief, unknown>
  const counts = [esims, refundedAmount, handedOver].every((each) => Number.isSafeInteger(each))
  if ((BELIEVED_STATUSES as readonly unknown[]).includes(status) && counts) return value as Belief
  throw new IntegrationFault(
    `The command believed must answer {"status", "esims", "refundedAmount", "handedOver"}, not ${JSON.stringify(value)?.slice(0, 200)}`,
  )
}
