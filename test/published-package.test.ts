import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './local-gateway.ts'

/** A dealer's project that has installed the tarballs of `npm run pack`. */
let project: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'dealer-esim-published-'))
  const tarballs = join(project, 'tarballs')
  execFileSync(process.execPath, [join(root, 'scripts/pack.mjs'), tarballs], { stdio: 'pipe' })
  for (const tarball of readdirSync(tarballs)) {
    const name = /dealer-esim-(\w+)-/.exec(tarball)?.[1] ?? ''
    const folder = join(project, 'node_modules/@dealer-esim', name)
    mkdirSync(folder, { recursive: true })
    execFileSync('tar', ['xzf', join(tarballs, tarball), '-C', folder, '--strip-components=1'])
  }
  for (const name of Object.keys(dependencies())) {
    if (!name.startsWith('@dealer-esim/'))
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

function dependencies(): Record<string, string> {
  const manifest = (name: string) =>
    JSON.parse(readFileSync(join(project, 'node_modules/@dealer-esim', name, 'package.json'), 'utf8'))
  return { ...manifest('sdk').dependencies, ...manifest('contract').dependencies }
}

const inProject = (file: string, args: string[]) =>
  execFileSync(file, args, { cwd: project, encoding: 'utf8', stdio: 'pipe' })

test('the SDK needs nothing beyond the contract, and commander for the command line', () => {
  expect(Object.keys(dependencies()).sort()).toEqual(['@dealer-esim/contract', 'commander', 'typebox'])
})

test('plain Node imports the library and runs the command line', () => {
  const script = `
    import { DealerEsim, DealerEsimError, newTransactionId } from '@dealer-esim/sdk'
    const esim = new DealerEsim({ baseUrl: 'http://127.0.0.1:9', appKey: 'k', appSecret: 's', retries: 0 })
    const error = await esim.health().catch((error) => error)
    console.log(error instanceof DealerEsimError, error.code, newTransactionId().length)`
  expect(inProject(process.execPath, ['--input-type=module', '-e', script])).toBe('true NETWORK_FAULT 36\n')
  const { bin } = JSON.parse(readFileSync(join(project, 'node_modules/@dealer-esim/sdk/package.json'), 'utf8'))
  const cli = join('node_modules/@dealer-esim/sdk', bin['dealer-esim'])
  expect(inProject(join(project, cli), ['--help'])).toMatch(/^Usage: dealer-esim/)
})

test('a strict TypeScript program sees the types of requests, answers and codes', () => {
  writeFileSync(
    join(project, 'program.ts'),
    `import { DealerEsim, DealerEsimError, nodeWebhook, type Order, type Profile } from '@dealer-esim/sdk'
export async function buy(esim: DealerEsim): Promise<[Order, Profile[]]> {
  try {
    const order = await esim.order({ transactionId: 'T-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
    const profiles: Profile[] = []
    for await (const profile of esim.eachProfile({ orderNo: order.orderNo })) profiles.push(profile)
    return [order, profiles]
  } catch (error) {
    if (error instanceof DealerEsimError && error.is('200007')) throw new Error(String(error.data.shortfall + 1))
    throw error
  }
}
export const receiver = nodeWebhook({
  appSecret: 's',
  onEvent: (event) => event.notifyType === 'ORDER_PAID' ? event.content.balanceAfter + 1 : event.content.profiles.length,
})
// @ts-expect-error a mistyped member
export const wrong = (esim: DealerEsim) => esim.order({ transactionId: 'T', packageInfoList: [], ammount: 1 })
// @ts-expect-error a transactionId is needed, unless the SDK is asked to make one
export const without = (esim: DealerEsim) => esim.order({ packageInfoList: [] })
export const generated = (esim: DealerEsim) => esim.order({ packageInfoList: [] }, { generateTransactionId: true })
`,
  )
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.asynciterable'],
    types: [],
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  const { status, stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript7/bin/tsc')], {
    cwd: project,
    encoding: 'utf8',
  })
  expect([status, stdout]).toEqual([0, ''])
})
