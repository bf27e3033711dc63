import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseRecording, type ReplayedCall, replayRecording } from '#suppliers/recording/replay-recording.ts'
import { createTestDatabase } from '../harness/databases/database.ts'

/*
 * Replays the `supplier record` files that contributors have added to packages/wholesalers/recordings. The cases beside
 * them, which have an expected outcome, are replayed by packages/wholesalers/src/recordings.test.ts.
 */

const ROOT = join(import.meta.dirname, '../../../..')
const FOLDER = join(ROOT, 'packages/wholesalers/recordings')
const JSON_FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'))
const textOf = (file: string) => readFileSync(join(FOLDER, file), 'utf8')
const isRecorded = (file: string) => 'supplierType' in JSON.parse(textOf(file))
const RECORDED = JSON_FILES.filter(isRecorded).sort()
const EXAMPLE = join(FOLDER, 'airalo/recorded-at-simulator.json')

/** Adapters store the progress of a purchase, so each file has its own database. */
async function replay(text: string): Promise<ReplayedCall[]> {
  const database = await createTestDatabase()
  const db = createDb({ url: database.url, poolSize: 4, applicationName: 'recording' })
  try {
    const replayed: ReplayedCall[] = []
    for await (const call of replayRecording({ db, ids: systemIds }, parseRecording(text))) replayed.push(call)
    return replayed
  } finally {
    await db.close()
    await database.drop()
  }
}

/**
 * What an adapter could not read: exceptions, requests other than the recorded ones, and good answers with an unknown
 * outcome.
 */
function faultsOf({ operation, exchanges, result, error, unsent, unanswered }: ReplayedCall): string[] {
  const isAnswered = exchanges.every(({ answer }) => answer !== undefined && answer.status < 400)
  const outcomes = (Array.isArray(result) ? result : [result]) as (Partial<Outcome> | undefined)[]
  const isUnknown = isAnswered && outcomes.some((outcome) => outcome?.kind === 'unknown')
  return [
    ...(error === undefined ? [] : [`${operation}: ${error}`]),
    ...(unsent === 0 ? [] : [`${operation}: ${unsent} recorded requests were not sent`]),
    ...unanswered.map((request) => `${operation}: no answer is recorded to ${request}`),
    ...(isUnknown ? [`${operation}: the outcome of a good answer is unknown: ${JSON.stringify(result)}`] : []),
  ]
}

describe('a recording file', () => {
  it.each(RECORDED)('%s is in its wholesaler’s folder, and is parsed without a fault', async (file) => {
    expect(dirname(file)).toBe(parseRecording(textOf(file)).supplierType)
    const replayed = await replay(textOf(file))
    expect(replayed.length).toBeGreaterThan(0)
    expect(replayed.flatMap(faultsOf)).toEqual([])
  })

  it.each<[string, RegExp, (file: RecorderFile) => void]>([
    ['an unreadable list', /^catalogue: .* is unreadable/, (file) => changeAnswer(file, 'catalogue', { data: 7 })],
    ['an unreadable eSIM', /^order: the outcome of a good answer/, (file) => changeAnswer(file, 'order', { data: {} })],
    ['a request that is not sent again', /^balance: 1 recorded request/, (file) => addRequest(file, 'balance')],
    ['a missing answer', /^balance: no answer is recorded to GET /, (file) => renameRequest(file, 'balance')],
  ])('with %s is reported as faulty', async (_, fault, change) => {
    const file = JSON.parse(readFileSync(EXAMPLE, 'utf8')) as RecorderFile
    change(file)
    expect((await replay(JSON.stringify(file))).flatMap(faultsOf)).toContainEqual(expect.stringMatching(fault))
  })
})

interface RecorderFile {
  exchanges: { call: { operation: string }; request: { path: string }; answer: { body: unknown } }[]
}

function exchangeOf({ exchanges }: RecorderFile, operation: string) {
  return exchanges.find(({ call, request }) => call.operation === operation && !request.path.endsWith('/token'))!
}

function changeAnswer(file: RecorderFile, operation: string, body: unknown): void {
  exchangeOf(file, operation).answer.body = body
}

function addRequest(file: RecorderFile, operation: string): void {
  file.exchanges.push(structuredClone(exchangeOf(file, operation)))
}

function renameRequest(file: RecorderFile, operation: string): void {
  exchangeOf(file, operation).request.path = '/v2/other'
}

describe('npm run recording', () => {
  it('prints how the adapter reads each answer, and what is missing', async () => {
    const file = JSON.parse(readFileSync(EXAMPLE, 'utf8')) as RecorderFile
    renameRequest(file, 'balance')
    const folder = mkdtempSync(join(tmpdir(), 'recorder-files-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'recorded.json'), JSON.stringify(file))
    const { code, stdout, stderr } = await recording(join(folder, 'recorded.json'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const calls = stdout.split(/\n(?=\w)/)
    expect(calls.map((call) => call.split('\n')[0])).toEqual(operationsOf(file))
    const ofCall = (operation: string) => calls.find((call) => call.startsWith(`${operation}\n`))
    expect(ofCall('order')).toMatch(
      /^order\n {2}POST \/v2\/orders → 200\n {2}\{"kind":"delivered",.*"charged":\{"amount":\d+,/,
    )
    expect(ofCall('catalogue')).toMatch(/\n {2}\{"productCode":.*\n {2}\{.*\n {2}\{.*\n {2}… \d+ in all/)
    expect(ofCall('balance')).toMatch(
      /^balance\n {2}GET \/v2\/other → 200\n {2}GET \/v2\/balance → no answer is recorded\n {2}\{"kind":"silent",.*\n {2}1 recorded requests were not sent this time/,
    )
  })

  it.each([[[]], [['one.json', 'other.json']]])(
    'with the arguments %j prints the accepted arguments',
    async (files) => {
      expect(await recording(...files)).toEqual({
        code: 2,
        stdout: '',
        stderr: 'Name one file: npm run recording FILE.\n',
      })
    },
  )

  it('refuses a test case beside the recordings, and says which command runs it', async () => {
    const file = join(FOLDER, JSON_FILES.find((one) => !isRecorded(one))!)
    const refusal = `${file}: It is a case with an \`expected\` outcome, not a file of supplier record.`
    const remedy = 'Run it with: npx vitest run packages/wholesalers/src/recordings.test.ts.'
    expect(await recording(file)).toEqual({ code: 1, stdout: '', stderr: `${refusal} ${remedy}\n` })
  })

  it.each([
    ['text', /^It is not JSON/],
    ['null', /^Its supplierType must be one of .*airalo/],
    ['{"supplierType":"other"}', /^Its supplierType must be one of .*airalo/],
    ['{"supplierType":"airalo"}', /^Each of its exchanges must have a call and a request/],
    ['{"supplierType":"airalo","exchanges":[null]}', /^Each of its exchanges must have a call and a request/],
  ])('explains why the file content %s is not a recording', (text, message) => {
    expect(() => parseRecording(text)).toThrow(message)
  })
})

/** One for each call, in the order of the recording. */
function operationsOf({ exchanges }: RecorderFile): string[] {
  const calls = new Map(exchanges.map(({ call }) => [(call as { callId?: string }).callId, call.operation]))
  return [...calls.values()]
}

/** Runs the script that npm would run, without the seconds that npm needs on a busy machine. */
function recording(...files: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env
  const [program = '', ...script] = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ).scripts.recording.split(' ')
  const child = spawn(join(ROOT, 'node_modules/.bin', program), [...script, ...files], {
    cwd: ROOT,
    env: { PATH, HOME, TMPDIR },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}
