import type { Profile } from '@dealer-esim/contract'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { createSimulator, type Form, type Simulator, type SimulatorKind } from '@dealer-esim/wholesaler-simulators'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { addConsoleApi } from '#http/console/console-server.ts'
import type { ConsoleDeps } from '#http/console/kernel/route.ts'
import { createBodyBudget } from '#http/load-shedding/byte-budget.ts'
import { applyRules } from '#products/rules/apply-rules.ts'
import { setRule } from '#products/rules/manage-rules.ts'
import { previewRules } from '#products/rules/preview-rules.ts'
import { claimSync, runSync } from '#products/sync/run-sync.ts'
import { ensureSync } from '#products/sync/sync-state.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { addSupplier, type Shop, waitUntil } from '#test/harness/shop.ts'
import { ORIGIN, signedInAs } from '#test/http/console/console-testbed.ts'
import { familyCall } from '#test/http/rt/family-program.ts'

/*
 * What a wholesaler states of an eSIM besides its code, from the wholesaler's answer to every page and API that shows it: the
 * dealer API, the RT API, the console and the traveller's page. The expected values come from the simulator's records.
 */

type Stated = Partial<Record<'msisdn' | 'apn' | 'confirmationCode' | 'kycUrl' | 'fupPolicy', string>>
type EsimRecord = ReturnType<Simulator['esims']>[number]

const numberOf = ({ imsi }: EsimRecord) => `+44${imsi.slice(-10)}`
const FAIR_USE = 'Speed is restricted to 1 Mbps after 2 GB a day'

/** The forms in which each wholesaler states the most, and what it then states. Zendit's offers name no condition. */
const WHOLESALERS: [kind: SimulatorKind, forms: Form[], stated: (esim: EsimRecord) => Stated][] = [
  [
    'mobimatter',
    ['stated-terms', 'confirmation-codes', 'identity-pages'],
    (esim) => ({
      ...{ msisdn: numberOf(esim), apn: 'internet', confirmationCode: esim.esimNo.slice(-4), fupPolicy: FAIR_USE },
      kycUrl: `https://kyc.mobimatter.example/${esim.iccid}`,
    }),
  ],
  [
    'airalo',
    ['stated-terms', 'system-apns'],
    (esim) => ({ msisdn: numberOf(esim), apn: 'android.airalo.example', fupPolicy: FAIR_USE }),
  ],
  ['esim-access', ['stated-terms'], (esim) => ({ msisdn: numberOf(esim), apn: 'internet', fupPolicy: FAIR_USE })],
  ['zendit', ['esim-details'], (esim) => ({ msisdn: numberOf(esim), apn: 'zendit.example' })],
  ['esim-go', [], () => ({})],
]

let database: TestDatabase
let node: Node
let dealer: Dealer
let loop: Running
let consoleApi: FastifyInstance
let person: Awaited<ReturnType<typeof signedInAs>>
const simulators = new Map<SimulatorKind, Simulator>()

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  const { deps } = node
  for (const [kind, forms] of WHOLESALERS) {
    const simulator = await createSimulator(kind, { catalogueSize: 3, forms })
    simulators.set(kind, simulator)
    await addSupplier(deps as unknown as Shop, kind, kind, { url: simulator.url, ...simulator.credentials })
    await ensureSync(deps.db, kind)
    await runSync(deps, (await claimSync(deps.db, [kind], true))!, deps.suppliers.get(kind)!.supplier)
    const codeTemplate = `${prefixOf(kind)}{data}_{days}`
    await setRule(
      deps,
      kind,
      { suppliers: [kind], currencyCode: 'USD', filter: { dayPass: false }, codeTemplate },
      OPERATOR,
    )
  }
  const { basis } = await previewRules(deps.db)
  await applyRules(deps, basis, OPERATOR)
  dealer = await addDealer(deps)
  loop = fulfilmentLoop(deps)
  consoleApi = Fastify()
  addConsoleApi(
    consoleApi,
    { ...deps, consoleUrl: () => `${ORIGIN}/console`, provider: undefined } as unknown as ConsoleDeps,
    {
      ...{ origins: [ORIGIN], loopback: false, cookieName: '__Host-console' },
      addressOf: (request) => request.ip,
      bodies: createBodyBudget(1024 * 1024),
      bodyRefusals: { pace: (write) => write() },
    },
  )
  await consoleApi.ready()
  person = await signedInAs({ app: consoleApi, db: deps.db, deps } as never, 'DEALER_ADMIN', dealer.tenantId)
})
afterAll(async () => {
  await consoleApi?.close()
  await loop?.stop(5_000)
  await node.stop()
  for (const simulator of simulators.values()) await simulator.close()
  await database.drop()
})

async function open(operation: string, body: object) {
  const { code, data } = await call(node, dealer, operation, { body: JSON.stringify(body) })
  expect(code).toBe('000000')
  return data
}

/** Buys an eSIM of the first package that this wholesaler supplies. */
async function delivered(kind: SimulatorKind): Promise<Profile> {
  const { packageList } = await open('package/list', { type: 'BASE', pageSize: 500 })
  const prefix = prefixOf(kind)
  const { packageCode } = packageList.find((one: { packageCode: string }) => one.packageCode.startsWith(prefix))
  const transactionId = `O-${kind}`
  await open('esim/order', { transactionId, packageInfoList: [{ packageCode, count: 1 }] })
  return waitUntil(async () => (await open('esim/profile/list', { transactionId })).profileList[0])
}

describe.each(WHOLESALERS)('%s', (kind, _, statedOf) => {
  let profile: Profile
  let stated: Stated
  beforeAll(async () => {
    profile = await delivered(kind)
    stated = statedOf(
      simulators
        .get(kind)!
        .esims()
        .find(({ iccid }) => iccid === profile.iccid)!,
    )
  })

  it('the dealer API has what the wholesaler states of the eSIM, and its package the condition of fair use', async () => {
    const { msisdn = null, apn = null, confirmationCode = null, fupPolicy = null } = stated
    expect(profile).toMatchObject({ msisdn, apn, confirmationCode })
    expect(profile.ac.endsWith('$$1')).toBe(confirmationCode !== null)
    const order = await open('esim/query', { orderNo: profile.orderNo })
    expect(order).toMatchObject({ profileList: [{ msisdn, apn, confirmationCode }] })
    const { packageList } = await open('package/list', { packageCode: profile.packageCode })
    expect(packageList).toMatchObject([{ fupPolicy }])
  })

  it('the RT API has the same', async () => {
    const { msisdn = null, apn = '', confirmationCode, fupPolicy = '' } = stated
    const { obj } = await familyCall(node.baseUrl, dealer, 'esim/query', { orderNo: profile.orderNo, pager: PAGER })
    expect(obj.esimList).toMatchObject([{ msisdn, apn, fupPolicy, ac: profile.ac, shortUrl: profile.shareUrl }])
    expect(obj.esimList[0].confirmationCode).toBe(confirmationCode)
    const listed = await familyCall(node.baseUrl, dealer, 'package/list', { packageCode: profile.packageCode })
    expect(listed.obj.packageList).toMatchObject([{ fupPolicy }])
  })

  it('the console has the same, and the page for proving one’s identity with the codes', async () => {
    const { msisdn = null, apn = null, confirmationCode = null, kycUrl = null } = stated
    const path = `/tenants/${dealer.tenantId}/profiles/${profile.esimTranNo}`
    expect((await person.call('GET', path)).body).toMatchObject({ msisdn, apn })
    const codes = await person.call('POST', `${path}/codes`)
    expect(codes.body).toMatchObject({ ac: profile.ac, confirmationCode, kycUrl })
  })

  it('the traveller’s page shows all of it, with the links for installation, by either link', async () => {
    for (const url of [profile.qrCodeUrl, profile.shareUrl!]) {
      const page = await (await fetch(url, { headers: { 'Sec-Fetch-Dest': 'document' } })).text()
      const { kycUrl, ...shown } = stated
      for (const text of Object.values(shown)) expect(page).toContain(`>${text}<`)
      const links = [profile.appleInstallUrl, profile.androidInstallUrl, ...(kycUrl ? [kycUrl] : [])]
      for (const link of links) expect(page).toContain(`href="${link}"`)
      expect(page.includes('Prove your identity')).toBe(kycUrl !== undefined)
    }
  })
})

const PAGER = { pageNum: 1, pageSize: 50 }

/** With which the codes of a wholesaler's packages begin. */
function prefixOf(kind: SimulatorKind): string {
  return `${kind.toUpperCase().replace('-', '')}_`
}
