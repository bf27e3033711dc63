import { createPublicKey } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { type RestAnswer, type RestClient, type RestDeps, restClient, restMembers } from '#rest-client.ts'
import { pemSetting, secretSetting } from '#supplier-settings.ts'

const MINUTE_MS = 60_000

/** Defaults for settings that a configuration leaves out. */
export const DEFAULTS = {
  url: 'https://api.mobimatter.com/mobimatter', // without /api/v2
  settlesMs: MINUTE_MS,
  giveUpAfterMs: 60 * MINUTE_MS,
  concurrency: 8,
}

export const mobimatterConfig = Type.Object(
  {
    apiKey: secretSetting('API key', { maxLength: 512, pattern: '^[\\x21-\\x7e]+$' }),
    merchantId: Type.String({ title: 'Merchant ID', minLength: 1, maxLength: 128, pattern: '^[\\x21-\\x7e]+$' }),
    webhookPublicKey: Type.Optional(
      pemSetting('Public key of events (PEM)', {
        description: 'Verifies events; without it they are refused.',
        minLength: 1,
        maxLength: 4_096,
      }),
    ),
    ...restMembers(DEFAULTS),
  },
  { additionalProperties: false },
)
export type MobimatterConfig = Static<typeof mobimatterConfig>

/** Checks what the schema cannot express. */
export function findMobimatterFault({ webhookPublicKey }: MobimatterConfig): string | undefined {
  if (webhookPublicKey === undefined) return undefined
  try {
    const { asymmetricKeyType } = createPublicKey(webhookPublicKey)
    return asymmetricKeyType === 'rsa' ? undefined : 'webhookPublicKey is not an RSA key'
  } catch {
    return 'webhookPublicKey is not a public key in PEM form'
  }
}

const API = '/api/v2'

export interface MobimatterClient {
  /** Creates an order, for which MobiMatter holds the money. */
  create(order: {
    productId: string
    productCategory: 'esim_realtime' | 'esim_addon'
    addOnOrderIdentifier?: string
    label: string
  }): Promise<RestAnswer>
  /** Completes an order whose money is held: this buys it. */
  complete(orderId: string): Promise<RestAnswer>
  /** Cancels an order whose money is held: this returns the money. */
  cancel(orderId: string, reason: string): Promise<RestAnswer>
  find(orderId: string): Promise<RestAnswer>
  /** What the provider behind MobiMatter knows about an order's eSIM. MobiMatter asks clients not to poll it. */
  info(orderId: string): Promise<RestAnswer>
  products(): Promise<RestAnswer>
  balance(): Promise<RestAnswer>
}

export function mobimatterClient(supplier: string, config: MobimatterConfig, deps: RestDeps): MobimatterClient {
  const { apiKey, merchantId: merchantid } = config
  const headers = { 'api-key': apiKey, merchantid }
  const send: RestClient = restClient(supplier, { ...config, url: config.url ?? DEFAULTS.url, headers }, deps)
  return {
    create: (order) => send('POST', `${API}/order`, { body: order }),
    complete: (orderId) => send('PUT', `${API}/order/complete`, { body: { orderId } }),
    cancel: (orderId, reason) => send('PUT', `${API}/order/cancel`, { body: { orderId, reason } }),
    find: (orderId) => send('GET', `${API}/order/${encodeURIComponent(orderId)}`),
    info: (orderId) => send('GET', `${API}/provider/info/${encodeURIComponent(orderId)}`),
    products: () => send('GET', `${API}/products`),
    balance: () => send('GET', `${API}/merchant/balance`),
  }
}
