import type { Fault } from './faults.ts'
import { ORDER_ESIMS_MAX, ORDER_LINES_MAX } from './limits.ts'
import type { OperationName } from './operations.ts'

/**
 * The rules of an operation's request that a schema cannot say, because they look at several members at once. They
 * also run on requests that their schema refuses, so that all faults are told together: nothing is taken for granted.
 */
export function brokenRules(name: OperationName, request: unknown): readonly Fault[] {
  const rule = rules[name]
  return rule && typeof request === 'object' && request !== null ? rule(request as Record<string, unknown>) : NONE
}

type Rule = (request: Record<string, unknown>) => readonly Fault[]

const NONE: readonly Fault[] = []

const rules: Partial<Record<OperationName, Rule>> = {
  'esim/order': (request) => {
    const { packageInfoList: lines } = request
    return Array.isArray(lines) && lines.length <= ORDER_LINES_MAX ? brokenLineRules(lines) : NONE
  },

  'esim/query': (request) => {
    if (Object.hasOwn(request, 'orderNo') || Object.hasOwn(request, 'transactionId')) return NONE
    return [{ code: '000105', field: 'orderNo', reason: 'Send orderNo or transactionId.' }]
  },

  // Which URLs are allowed is for the gateway to say (400101): that depends on the deployment.
  'webhook/set': ({ callbackUrl }) => {
    if (typeof callbackUrl !== 'string' || (URL.canParse(callbackUrl) && !/\s/.test(callbackUrl))) return NONE
    return [
      {
        code: '000108',
        field: 'callbackUrl',
        reason: 'Send an absolute URL, such as https://dealer.example.com/events.',
      },
    ]
  },
}

/** At most a hundred eSIMs, and no package twice: twenty lines at most. */
function brokenLineRules(lines: unknown[]): readonly Fault[] {
  const faults: Fault[] = []
  const seen = new Set<unknown>()
  let esims = 0
  lines.forEach((line, i) => {
    if (typeof line !== 'object' || line === null) return
    const { packageCode, count } = line as Record<string, unknown>
    if (Number.isInteger(count)) esims += count as number
    if (typeof packageCode !== 'string') return
    if (seen.has(packageCode)) {
      const reason = 'The package is in an earlier line: name each package once.'
      faults.push({ code: '000108', field: `packageInfoList[${i}].packageCode`, reason })
    }
    seen.add(packageCode)
  })
  if (esims > ORDER_ESIMS_MAX) {
    const reason = `Order at most ${ORDER_ESIMS_MAX} eSIMs in all.`
    faults.push({ code: '000108', field: 'packageInfoList', reason })
  }
  return faults
}
