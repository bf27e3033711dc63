export interface OutboundAnswer {
  kind: 'answer'
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  truncated: boolean
  /** The one that was dialled. */
  address: string
}

export interface OutboundFailure {
  kind: 'failed'
  /** How far it came: 'sent' is a connection that broke, or nonsense instead of HTTP, after the request was written. */
  phase: 'url' | 'forbidden' | 'dns' | 'connect' | 'tls' | 'sent' | 'time-out'
  /** false only when the request surely never left us; true when the receiver may have got it. */
  sent: boolean
  /** For people. */
  words: string
  address?: string
}

export type OutboundOutcome = OutboundAnswer | OutboundFailure
