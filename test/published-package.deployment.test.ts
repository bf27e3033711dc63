import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeBlocks } from '../packages/gateway/test/harness/processes/docs-commands.ts'
import { root } from './local-gateway.ts'

/** A dealer's project with the tarball of `npm run pack` and the other packages that the README's samples use. */
let project: string
let installed: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'dealer-esim-published-'))
  const tarballs = join(project, 'tarballs')
  execFileSync(process.execPath, [join(root, 'scripts/pack.mjs'), tarballs], { stdio: 'pipe' })
  const [tarball = '', ...others] = readdirSync(tarballs)
  expect(others, 'the SDK is a single tarball').toEqual([])
  installed = join(project, 'node_modules/@dealer-esim/sdk')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['xzf', join(tarballs, tarball), '-C', installed, '--strip-components=1'])
  for (const name of ['commander', 'express', 'fastify', '@types']) {
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

const manifest = () => JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))

const inProject = (file: string, args: string[]) =>
  execFileSync(file, args, { cwd: project, encoding: 'utf8', stdio: 'pipe' })

test('the SDK depends only on commander, for the command line', () => {
  expect(Object.keys(manifest().dependencies)).toEqual(['commander'])
  expect(readFileSync(join(installed, 'dist/index.d.ts'), 'utf8')).not.toMatch(/from ["']/)
})

test('ESM and CommonJS export the values that the types declare', () => {
  const [, list = ''] = /export \{([^}]*)\};?\s*$/.exec(readFileSync(join(installed, 'dist/index.d.ts'), 'utf8')) ?? []
  const declared = list.split(',').map((name) => name.trim())
  const values = declared.filter((name) => !name.startsWith('type ')).sort()
  expect(values).toContain('formatMoney')
  const keys = (load: string) => `console.log(JSON.stringify(Object.keys(${load}).sort()))`
  for (const [kind, load] of [
    ['module', `await import('@dealer-esim/sdk')`],
    ['commonjs', `require('@dealer-esim/sdk')`],
  ] as const) {
    expect(JSON.parse(inProject(process.execPath, [`--input-type=${kind}`, '-e', keys(load)])), kind).toEqual(values)
  }
})

test('plain Node imports the library and runs the command line', () => {
  const script = `
    import { DealerEsim, DealerEsimError, newTransactionId } from '@dealer-esim/sdk'
    const esim = new DealerEsim({ baseUrl: 'http://127.0.0.1:9', appKey: 'k', appSecret: 's', retries: 0 })
    const error = await esim.health().catch((error) => error)
    console.log(error instanceof DealerEsimError, error.code, newTransactionId().length)`
  expect(inProject(process.execPath, ['--input-type=module', '-e', script])).toBe('true NETWORK_FAULT 36\n')
  expect(inProject(join(installed, manifest().bin['dealer-esim']), ['--help'])).toMatch(/^Usage: dealer-esim/)
})

test('the command line serves agents without the protocol’s own packages', () => {
  const program = readFileSync(join(installed, 'dist/cli.js'), 'utf8')
  const [, file = ''] = /import\("\.\/(agent-server-[\w-]+\.js)"\)/.exec(program) ?? []
  const script = `const { serveStdio } = await import('./node_modules/@dealer-esim/sdk/dist/${file}'); console.log(typeof serveStdio)`
  expect(inProject(process.execPath, ['--input-type=module', '-e', script])).toBe('function\n')
  const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENCES.txt'), 'utf8')
  for (const name of ['@modelcontextprotocol/sdk', 'zod', 'ajv', 'typebox']) {
    expect(licences).toMatch(new RegExp(`^${name} [\\d.]+ \\(MIT\\)$`, 'm'))
  }
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
  onEvent: (event) => {
    switch (event.notifyType) {
      case 'ORDER_PAID': return event.content.balanceAfter + 1
      case 'DELIVERY_UPDATED': return event.content.profiles.length
      case 'ESIM_USAGE': return event.content.sequence
      case 'BALANCE_LOW': return event.content.lowBalanceThreshold
      // @ts-expect-error an event of no type
      case 'DELIVERED': return 0
    }
  },
})
export async function prices(esim: DealerEsim): Promise<number[]> {
  const found: number[] = []
  for await (const each of esim.eachPackage({ locationCode: 'JP' })) found.push(each.price)
  // @ts-expect-error a package that left sale has no price
  for await (const each of esim.eachPackage({ updatedSince: '2026-11-20T13:28:09.000Z' })) found.push(each.price)
  return found
}
// @ts-expect-error a mistyped member
export const wrong = (esim: DealerEsim) => esim.order({ transactionId: 'T', packageInfoList: [], amounts: 1 })
// @ts-expect-error a transactionId is needed, unless the SDK is asked to make one
export const without = (esim: DealerEsim) => esim.order({ packageInfoList: [] })
export const generated = (esim: DealerEsim) => esim.order({ packageInfoList: [] }, { generateTransactionId: true })
`,
  )
  expect(compile(['program.ts'])).toEqual([0, ''])
})

test("the README's TypeScript compiles strictly", () => {
  const blocks = codeBlocks(readFileSync(join(installed, 'README.md'), 'utf8'), 'ts')
  expect(blocks.length).toBeGreaterThan(2)
  const surroundings = `import type { DealerEsim, Order, Notification } from '@dealer-esim/sdk'
declare global {
  const esim: DealerEsim
  const order: Order
  function store(event: Notification): Promise<void>
}
`
  const files = blocks.map((code, at) => [`readme-${at}.ts`, `${code}\nexport {}\n`] as const)
  for (const [name, code] of [['surroundings.ts', surroundings] as const, ...files])
    writeFileSync(join(project, name), code)
  expect(compile(['surroundings.ts', ...files.map(([name]) => name)], { types: ['node'], skipLibCheck: true })).toEqual(
    [0, ''],
  )
})

test.each([
  ['node10', { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' }],
  ['node16', { module: 'node16', moduleResolution: 'node16' }],
])('TypeScript that compiles to CommonJS can use the SDK with moduleResolution %s', (name, options) => {
  const folder = join(project, name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}')
  writeFileSync(
    join(folder, 'program.ts'),
    `import { formatMoney, type Profile } from '@dealer-esim/sdk'
export const iccid = (profile: Profile): string => profile.iccid
console.log(formatMoney(45_000))
declare const console: { log(text: string): void }
`,
  )
  expect(compile([`${name}/program.ts`], { ...options, noEmit: false, outDir: folder, rootDir: folder })).toEqual([
    0,
    '',
  ])
  expect(inProject(process.execPath, [join(name, 'program.js')])).toBe('4.50\n')
})

test.each(['{}', '{"type":"commonjs"}'])('the samples start with the package.json %s', (packageJson) => {
  const folder = mkdtempSync(join(project, 'samples-'))
  writeFileSync(join(folder, 'package.json'), packageJson)
  const samples = join(root, 'docs/samples/typescript')
  const files = readdirSync(samples).map((name) => [name, readFileSync(join(samples, name), 'utf8')] as const)
  expect(files.length).toBe(4)
  for (const [name, code] of files) expect(code).toContain(`npx tsx ${name}`)
  const readme = readFileSync(join(installed, 'README.md'), 'utf8')
  const [example = ''] = codeBlocks(readme, 'ts')
  const [, command = ''] = /`npx tsx (\S+)`/.exec(readme) ?? []

  for (const [name, code] of [...files, [command, example] as const]) {
    writeFileSync(join(folder, name), code)
    const env = { ...process.env, DEALER_ESIM_APP_KEY: '', DEALER_ESIM_APP_SECRET: 's' }
    const options = { cwd: folder, env, input: '', encoding: 'utf8' } as const
    const usage = /Usage: npx tsx \S+ ([A-Za-z_ ]+)/.exec(code)?.[1]
    const { stdout, stderr } = spawnSync(
      join(root, 'node_modules/.bin/tsx'),
      [name, ...(usage?.trim().split(' ') ?? [])],
      options,
    )
    // Without credentials each ends with its own output or the SDK's error.
    expect(stdout + stderr, name).toMatch(/^[0-9a-f]{64}\n$|^not genuine\n$|TypeError: (appKey|baseUrl)/)
  }
})

function compile(files: string[], options: object = {}): [number | null, string] {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.asynciterable'],
    types: [],
    ...options,
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  // Only the older, slower compiler supports the older module resolution.
  const compiler = 'ignoreDeprecations' in options ? 'typescript' : 'typescript7'
  const { status, stdout } = spawnSync(process.execPath, [join(root, 'node_modules', compiler, 'bin/tsc')], {
    cwd: project,
    encoding: 'utf8',
  })
  return [status, stdout]
}
