import type { EndpointView } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { formatDateTime } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** Says whether events reach the endpoint, as a text and as a colour. */
export function endpointState(endpoint: EndpointView): { color: string; text: string } {
  const { states } = t.endpoint
  if (endpoint.callbackUrl === null) return { color: 'gray', text: states.none }
  if (endpoint.disabledReason) return { color: 'red', text: states[endpoint.disabledReason] }
  if (!endpoint.enabled) return { color: 'gray', text: states.off }
  if (endpoint.failingSince)
    return { color: 'orange', text: formatMessage(states.failing, { time: formatDateTime(endpoint.failingSince) }) }
  return { color: 'teal', text: states.ok }
}
