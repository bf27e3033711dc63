import type { WebhookSetAnswer } from '@dealer-esim/contract'
import type { DealerEsim } from '../client.ts'
import { DealerEsimError } from '../error.ts'

/**
 * Has events sent where they went before a receiver of ours took them, and tells how that went. The URL must answer a
 * test event to be taken again.
 * @param ours the receiver that is about to end
 */
export async function putBack(esim: DealerEsim, before: WebhookSetAnswer, ours: string): Promise<string> {
  const { eventTypes, enabled } = before
  const callbackUrl = before.callbackUrl === ours ? null : before.callbackUrl
  try {
    await esim.setWebhook({ callbackUrl, eventTypes, ...(callbackUrl === null ? {} : { enabled }) })
    return callbackUrl === before.callbackUrl
      ? `The webhook setting is as before: ${callbackUrl ?? 'no callback URL'}.`
      : 'The callback URL was that of this receiver already: it is removed, and events are recorded only.'
  } catch (error) {
    if (!(error instanceof DealerEsimError)) throw error
    const cure = callbackUrl === null ? 'dealer-esim webhook remove' : `dealer-esim webhook set ${callbackUrl}`
    return `The webhook setting could not be put back (${error.message}) Events still go to ${ours}, where nobody listens any more: ${cure}`
  }
}
