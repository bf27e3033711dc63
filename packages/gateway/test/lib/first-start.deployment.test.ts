import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { canEnter } from '@dealer-esim/embedded-postgres/server-account.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import {
  copyUsedDataDir,
  type GatewayOptions,
  spawnGateway,
  startGateway,
  stopGateways,
} from '#test/harness/processes/gateway-process.ts'
import { dataFolder, removeFolder } from '#test/harness/temporary-folders.ts'

/* Starts on machines with various users, locales and folders. */

const asRoot = process.getuid!() === 0 && process.platform === 'linux'
const stranger = { uid: 12_345, gid: 0 }
let folder: string
let node = process.execPath

beforeAll(() => {
  if (canEnter(stranger, dirname(process.execPath))) return
  const place = mkdtempSync(join(tmpdir(), 'dealer-esim-node-'))
  chmodSync(place, 0o755)
  node = join(place, 'node')
  copyFileSync(process.execPath, node)
})
beforeEach(() => {
  folder = mkdtempSync(join(dataFolder(), 'dealer-esim-first-start-'))
  chmodSync(folder, 0o755)
  return () => removeFolder(folder)
})
afterAll(async () => {
  await stopGateways()
  if (node !== process.execPath) removeFolder(dirname(node))
})

/** Creates a folder owned by the user. */
function folderOf({ uid, gid }: { uid: number; gid: number }, name = 'data'): string {
  const path = join(folder, name)
  mkdirSync(path, { mode: 0o700 })
  chownSync(path, uid, gid)
  return path
}

async function refusal(options: GatewayOptions): Promise<string> {
  const gateway = spawnGateway(options)
  expect(await gateway.exited).toEqual({ code: 1, signal: null })
  expect(gateway.logs.filter((line) => line.level === 'fatal')).toEqual([])
  expect(gateway.stderr).not.toMatch(/^\s+at /m)
  return gateway.stderr
}

const MACHINES: [string, Record<string, string>][] = [
  ["a b it's", { LANG: 'C', LC_ALL: 'C', TZ: 'Asia/Kathmandu' }],
  // In Turkish, the lower case of I is not i.
  ['café-日本-%20', { LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8', HOME: '' }],
  ['-rf $HOME:(1)', { LANG: 'ja_JP.eucJP', LC_COLLATE: 'xx_YY', TZ: 'Nowhere/Land', HOME: '/nonexistent' }],
  [`line\nbreak ${'é'.repeat(100)}`, { LC_ALL: 'xx_YY', LC_MESSAGES: 'de_DE', USER: 'nobody', TMPDIR: '/nonexistent' }],
]

it.each(MACHINES)('a first start works in the folder %j with %o', async (name, env) => {
  const gateway = await startGateway({ dataDir: join(folder, name), env })
  expect(await gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null })
})

describe.runIf(asRoot && canEnter(stranger, packageRoot()))('a user without an entry in /etc/passwd', () => {
  it('can start a new gateway, and can start it again', async () => {
    const dataDir = folderOf(stranger)
    for (let start = 1; start <= 2; start++) {
      const gateway = await startGateway({ user: stranger, node, dataDir })
      expect(await gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    }
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(stranger.uid)
  })

  it.each([
    [
      'another user’s folder',
      () => folderOf({ uid: 4242, gid: 4242 }),
      /^The gateway did not start\. .*\/data belongs to user 4242, but this process runs as user 12345\. Start as that user, give this one the folder \(chown -R 12345 .*\/data\), or set another DATA_DIR\.\n$/,
    ],
    [
      'a folder in another user’s',
      () => join(folderOf({ uid: 4242, gid: 4242 }), 'inner'),
      /^The gateway did not start\. DATA_DIR .*\/inner cannot be used: EACCES: permission denied, .* Correct this, or set another DATA_DIR\.\n$/,
    ],
    [
      'data that was copied back without its owner',
      copiedBack,
      /^The gateway did not start\. .* belongs to user 0, but this process runs as user 12345\. .*chown -R/,
    ],
  ])('is refused %s in one sentence', async (_, dataDir, message) => {
    expect(await refusal({ user: stranger, node, dataDir: await dataDir() })).toMatch(message)
  })
})

/** As copied by root: `cp -r`. */
async function copiedBack(): Promise<string> {
  const dataDir = folderOf(stranger)
  const original = join(folder, 'original')
  await copyUsedDataDir(original)
  spawnSync('cp', ['-r', `${original}/.`, dataDir])
  return dataDir
}

it.each([
  [
    'a file',
    () => writeFileSync(join(folder, 'data'), ''),
    /^The gateway did not start\. DATA_DIR .*\/data is not a folder\. /,
  ],
  [
    'a dangling link',
    () => symlinkSync('/nonexistent/data', join(folder, 'data')),
    /^The gateway did not start\. DATA_DIR .*\/data is a link to \/nonexistent\/data, which does not exist\. /,
  ],
  [
    'in a file',
    () => writeFileSync(join(folder, 'data'), ''),
    /^The gateway did not start\. DATA_DIR .*\/data\/inner cannot be used: /,
    'data/inner',
  ],
])('a DATA_DIR that is %s is refused in one sentence', async (_, prepare, message, name = 'data') => {
  prepare()
  expect(await refusal({ dataDir: join(folder, name) })).toMatch(message)
})

it.runIf(asRoot)('data restored without its original owner is refused in one sentence', async () => {
  expect(await refusal({ dataDir: await copiedBack() })).toMatch(
    /^The gateway did not start\. The embedded PostgreSQL did not start .*Permission denied.* must belong to user \d+ alone: chown -R \d+ .*\/postgres && chmod -R go= .*\/postgres\n$/,
  )
})
