import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Two complete answers, without the members that differ in every request. */
export function withoutIds({ status, text, headers }: { status: number; text: string; headers: IncomingHttpHeaders }) {
  const { date: _, 'rt-requestid': requestId, ...rest } = headers
  return { status, headers: rest, text: text.replaceAll(String(requestId), 'ID') }
}

/** Operations on an eSIM, with their members except the one that identifies it. */
export const ESIM_OPERATIONS: [operation: string, request: Record<string, string>][] = [
  ['esim/topup', { packageCode: 'JP_1_7' }],
  ['esim/cancel', { action: 'CANCEL' }],
  ['esim/suspend', { action: 'SUSPEND' }],
  ['esim/unsuspend', { action: 'UNSUSPEND' }],
  ['esim/revoke', { action: 'REVOKE' }],
  ['package/list', { type: 'TOPUP' }],
]

type Reference = Record<string, string>

/** References to an eSIM, each with a reference of the same length and form that matches no eSIM. */
export function esimReferences({ esimTranNo, iccid }: { esimTranNo: string; iccid: string }): [Reference, Reference][] {
  const noIccid = iccid.replace(/.$/, (last) => String((Number(last) + 1) % 10))
  return [
    [{ esimTranNo }, { esimTranNo: randomUUID() }],
    [{ iccid }, { iccid: noIccid }],
    [
      { esimTranNo, iccid },
      { esimTranNo: randomUUID(), iccid: noIccid },
    ],
  ]
}

/** A number of the same form that belongs to no order. */
export function otherOrderNo(orderNo: string): string {
  return orderNo.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
}
