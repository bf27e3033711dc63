import { type Command, InvalidArgumentError } from 'commander'
import type { DealerEsim } from '#client.ts'
import { DealerEsimError } from '#error.ts'
import { integer, list, webAddress } from '../arguments.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, CommandFailed, EXIT } from '../exit-codes.ts'
import { type Paint, printable } from '../output.ts'
import type { Bench, Case, Finding } from './bench.ts'
import { EVENT_CASES } from './event-cases.ts'
import { IntegrationFault, reachIntegration } from './integration.ts'
import { ORDER_CASES } from './order-cases.ts'
import { startOrderProxy } from './proxy.ts'

interface Options {
  integration: string
  events: string
  port: number
  package: string
  only?: string[]
}

interface Result {
  name: string
  what: string
  page: string
  passed: boolean
  findings: Finding[]
}

const CASES = [...ORDER_CASES, ...EVENT_CASES]

/** `certify`: puts the dealer's own integration through what breaks integrations, in test mode. */
export function certifyCommand(program: Command, context: () => Context): void {
  program
    .command('certify')
    .description('test your own integration against what breaks integrations (test mode only)')
    .requiredOption('--integration <url>', 'your endpoint for the commands order, settle and believed', webAddress)
    .requiredOption('--events <url>', 'your route for events', webAddress)
    .option('--port <port>', 'port of the proxy, which your integration uses as its base URL', integer(0, 65535), 4646)
    .option('--package <code>', 'a package that is delivered', 'SANDBOX_OK')
    .option('--only <cases>', 'some cases, separated by commas', cases)
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      const current = context()
      const { client, credentials, io, paint, json, print } = current
      const { baseUrl, appKey, appSecret } = credentials()
      const esim = client()
      await requireTestMode(esim)
      const proxy = await startOrderProxy(baseUrl, options.port)
      const results: Result[] = []
      try {
        io.err(`Proxy on ${proxy.baseUrl}. Your integration must use it as its base URL.\n`)
        const integration = reachIntegration(options.integration, options.events)
        const bench = { esim, proxy, integration, appKey, appSecret, packageCode: options.package }
        for (const each of CASES.filter(({ name }) => options.only?.includes(name) ?? true)) {
          const result = await runCase(each, bench)
          results.push(result)
          if (!json) io.out(describe(result, paint))
        }
      } finally {
        await proxy.close()
      }
      const failed = results.filter(({ passed }) => !passed).length
      print(`\n${results.length - failed} of ${results.length} cases passed.\n`, {
        passed: failed === 0,
        cases: results,
      })
      if (failed > 0) throw new AlreadyReported(EXIT.REFUSED)
    })
}

/** What an integration answers wrongly, or not at all, is a finding too. */
async function runCase({ name, what, page, run }: Case, bench: Bench): Promise<Result> {
  let findings: Finding[]
  try {
    findings = await run(bench)
  } catch (error) {
    if (error instanceof DealerEsimError) throw error
    const found = error instanceof IntegrationFault ? error.message : String(error)
    findings = [{ expected: 'the integration answers its commands', found, ok: false }]
  }
  return { name, what, page, passed: findings.every(({ ok }) => ok), findings }
}

/** Test operations exist for test twins, and on local and test gateways: nowhere else are purchases without money. */
async function requireTestMode(esim: DealerEsim): Promise<void> {
  const { mode, keyLimits } = await esim.health()
  if (keyLimits !== null) {
    const advice = 'Use the AppKey of the account itself: events are signed with its AppSecret.'
    throw new CommandFailed(`These are the credentials of a restricted key. ${advice}`, EXIT.USAGE)
  }
  if (mode === 'TEST') return
  try {
    await esim.test.time()
  } catch (error) {
    if (!(error instanceof DealerEsimError) || !(error.is('000109') || error.is('101009'))) throw error
    const advice = 'Use the credentials of your test twin (docs/testing.md), or a local gateway.'
    throw new CommandFailed(`certify buys eSIMs, and this is not a test account. ${advice}`, EXIT.USAGE)
  }
}

function describe({ name, what, page, passed, findings }: Result, { green, red, dim }: Paint): string {
  const head = `${passed ? green('✓') : red('✗')} ${name}  ${dim(what)}\n`
  const faults = findings.filter(({ ok }) => !ok)
  const lines = faults.map(({ expected, found }) => `    expected  ${expected}\n    found     ${printable(found)}\n`)
  return `${head}${lines.join('')}${passed ? '' : `    read      ${page}\n`}`
}

function cases(text: string): string[] {
  const names = list(text)
  const unknown = names.filter((name) => !CASES.some((each) => each.name === name))
  if (unknown.length === 0) return names
  throw new InvalidArgumentError(
    `There is no case ${unknown.join(', ')}. Choose from ${CASES.map(({ name }) => name).join(', ')}.`,
  )
}

const HELP = `
Cases: ${CASES.map(({ name }) => name).join(', ')}

Start your integration with the proxy as its base URL, then run certify. docs/certify.md explains the endpoint, and the
SDKs for TypeScript, Python and PHP have an example of it. Exit code 0: all cases passed; 1: some did not.

Example:
  $ dealer-esim certify --integration http://127.0.0.1:3000/certify --events http://127.0.0.1:3000/esim-events`
