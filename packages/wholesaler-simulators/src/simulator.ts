import type { AddressInfo } from 'node:net'
import { describeAiralo } from './airalo/airalo.ts'
import { answerControl, type Controls, createControls } from './controls.ts'
import { describeEsimAccess } from './esim-access/esim-access.ts'
import { describeEsimGo } from './esim-go/esim-go.ts'
import { Faults } from './faults.ts'
import { type Form, inForms } from './forms/answer-forms.ts'
import { behindProxy, FRAMEWORK_ERROR } from './forms/proxy-answers.ts'
import { describeMobimatter } from './mobimatter/mobimatter.ts'
import { RequestLog } from './requests.ts'
import { Account } from './simulated-account.ts'
import { createCatalogue } from './simulated-catalogue.ts'
import { Clock } from './simulated-clock.ts'
import { Events } from './simulated-events.ts'
import { CONTROL_PATH, createSimulatorServer } from './simulator-server.ts'
import type { Description, Wholesaler, World } from './wholesaler.ts'
import { describeZendit } from './zendit/zendit.ts'

export {
  type Controls,
  type Counters,
  connectControls,
  type EsimRecord,
  type OrderRecord,
  type RemoteControls,
} from './controls.ts'
export { FAULT_KINDS, type Fault, type FaultKind } from './faults.ts'
export { FORMS, type Form, formsOf } from './forms/answer-forms.ts'
export type { RequestRecord } from './requests.ts'
export type { EsimStatus, ProfileStatus } from './simulated-order.ts'

/** The kinds of simulators, each with its description. */
const KINDS = {
  'esim-access': describeEsimAccess,
  zendit: describeZendit,
  mobimatter: describeMobimatter,
  airalo: describeAiralo,
  'esim-go': describeEsimGo,
}

export type SimulatorKind = keyof typeof KINDS
export const SIMULATOR_KINDS = Object.keys(KINDS) as SimulatorKind[]

export interface SimulatorOptions {
  /** Port on loopback. Default 0: any free port. */
  port?: number
  /** Packages for eSIMs in the catalogue. Each also has a top-up if the interface keeps them separate. Default 300. */
  catalogueSize?: number
  /** The account's balance, in 1/10 000. Default 10 000 units of the currency. */
  balance?: number
  /** The currency of balance and prices. Default USD. */
  currencyCode?: string
  /** Credentials under the wholesaler's names. Default: random. */
  credentials?: Record<string, string>
  /** The URL that events are sent to. Default null: none are sent. */
  eventsUrl?: string | null
  /** How long delivering an order takes. Default 0: delivered with the answer. */
  deliverAfterMs?: number
  /** Refuses more requests than this in a sliding second, in the interface's format. Default null: only counts them. */
  perSecond?: number | null
  /** The effect of a second purchase with the same key. Default: each interface's documented behaviour, or `refused`. */
  repeatedKey?: World['options']['repeatedKey']
  /** The ICCID of a cancelled eSIM goes to the next order. Default: only at eSIM Access. */
  reusesIccids?: boolean
  /** How long MobiMatter holds money before the order lapses. Default 15 minutes. */
  holdMs?: number
  /** Tokens that Airalo issues in a minute. Default 3. */
  tokensPerMinute?: number
  /** RT family: a query of a time span with an undelivered order is refused with 200010 (default), or leaves it out. */
  pendingInWindow?: World['options']['pendingInWindow']
  /** Forms of answers that occur in addition to the usual one. Default: none. */
  forms?: readonly Form[]
}

export interface Simulator extends Controls {
  kind: SimulatorKind
  /** Base URL as an operator enters it. */
  url: string
  /** Under the wholesaler's names. */
  credentials: Record<string, string>
  /** For `connectControls`, from another process. */
  controlUrl: string
  /** Closes all connections, answered or not. May be called twice. */
  close(): Promise<void>
}

/**
 * Starts a simulator of one wholesaler on loopback.
 * @throws Error if the port is taken
 */
export async function createSimulator(kind: SimulatorKind, options: SimulatorOptions = {}): Promise<Simulator> {
  const description: Description = KINDS[kind]()
  const clock = new Clock()
  const faults = new Faults()
  const events = new Events(faults)
  const requests = new RequestLog()
  const forms = new Set(options.forms)
  const smdpAddress = `${forms.has('smdp-urls') ? 'https://' : ''}${description.smdpAddress}`
  const described = { ...description, smdpAddress }
  const account = createAccount(described, options, clock, (change) => events.send(wholesaler.eventsOf(change)))
  events.url = options.eventsUrl ?? null
  events.needsHead = description.needsHead ?? false
  let origin = ''
  const wholesaler = description.createWholesaler({
    account,
    clock,
    events,
    origin: () => origin,
    options: {
      credentials: options.credentials,
      repeatedKey: options.repeatedKey ?? description.repeatedKey,
      holdMs: options.holdMs ?? 15 * 60_000,
      tokensPerMinute: options.tokensPerMinute ?? 3,
      pendingInWindow: options.pendingInWindow ?? 'refused',
      forms,
    },
  })
  const controls = createControls({ account, clock, faults, requests, events })
  const { perSecond = null, deliverAfterMs = 0 } = options
  const control = answerControl.bind(undefined, controls)
  const server = createSimulatorServer({
    ...(forms.has('proxy-answers')
      ? { wholesaler: behindProxy(wholesaler), serverError: FRAMEWORK_ERROR }
      : { wholesaler }),
    ...{ account, faults, requests, perSecond, deliverAfterMs, control },
    show: (operation, answer) => inForms(forms, operation, answer),
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    ...controls,
    kind,
    url: `${origin}${wholesaler.basePath}`,
    credentials: wholesaler.credentials,
    controlUrl: `${origin}${CONTROL_PATH}`,
    async close() {
      clock.close()
      events.close()
      if (!server.listening) return
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function createAccount(
  description: Description,
  options: SimulatorOptions,
  clock: Clock,
  onChange: (change: Parameters<Wholesaler['eventsOf']>[0]) => void,
): Account {
  const { smdpAddress, createReference, reusesIccids = false } = description
  return new Account({
    clock,
    products: createCatalogue({ ...description, size: options.catalogueSize ?? 300 }),
    balance: options.balance ?? 100_000_000,
    currencyCode: options.currencyCode ?? 'USD',
    smdpAddress,
    reusesIccids: options.reusesIccids ?? reusesIccids,
    createReference,
    onChange,
  })
}
