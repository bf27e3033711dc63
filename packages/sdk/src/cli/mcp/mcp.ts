import type { Command } from 'commander'
import type { DealerEsim, DealerEsimOptions } from '#client.ts'
import packageJson from '#package.json' with { type: 'json' }
import type { Context } from '../context.ts'
import type { Credentials } from '../credentials.ts'
import { CommandFailed, EXIT } from '../exit-codes.ts'

interface Options {
  allowOrders?: boolean
  codes: boolean
}

/** `mcp`: tools for an agent, over the Model Context Protocol on standard input and output. */
export function mcpCommand(program: Command, context: () => Context): void {
  program
    .command('mcp')
    .description('serve tools for an agent (Model Context Protocol), with a restricted key')
    .option('--allow-orders', 'also offer the tools buy, top_up and cancel')
    .option('--no-codes', 'do not offer the tool esim_codes, which answers activation codes')
    .addHelpText('after', HELP)
    .action(async ({ allowOrders = false, codes }: Options) => {
      const { client, credentials, io } = context()
      const key = restrictedKey(credentials())
      const esim = client({ ...key, fetch: oneAtATime() })
      await checkLimits(esim, allowOrders)
      io.err(`Serving tools of ${key.appKey}${allowOrders ? ', with orders' : ', read only'}.\n`)
      const { serveStdio } = await import('./agent-server.ts')
      const { version } = packageJson
      await serveStdio({ esim, key, allowOrders, codes, version, nowMs: Date.now }, io.interrupted)
    })
}

const RESTRICTED_PREFIX = 'rk_'

/** The key in the environment, or the key for agents of a local gateway. */
function restrictedKey({ appKey, appSecret, agentKey }: Credentials): { appKey: string; appSecret: string } {
  if (agentKey) return agentKey
  if (appKey.startsWith(RESTRICTED_PREFIX)) return { appKey, appSecret }
  throw new CommandFailed(
    `An agent needs a restricted key, whose AppKey begins with ${RESTRICTED_PREFIX}. The credentials are those of the whole account, which has no limit but its balance. ${MAKE_ONE}`,
    EXIT.USAGE,
  )
}

const MAKE_ONE =
  'Make a restricted key in the portal (API credentials), or have your operator run: dealer-esim-admin key create TENANT_ID --label agent --operations health,account/balance,package/list,location/list,esim/order,esim/query,esim/profile/list --per-order-max 20.00 --per-day-max 100.00. Then set DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET to it.'

/** Asks the gateway whether the key is a restricted one, and bounded if it may buy. */
async function checkLimits(esim: DealerEsim, allowOrders: boolean): Promise<void> {
  const { keyLimits } = await esim.health()
  if (keyLimits === null) {
    throw new CommandFailed(`The gateway says that this is not a restricted key. ${MAKE_ONE}`, EXIT.USAGE)
  }
  if (allowOrders && keyLimits.perDayMax === null && keyLimits.totalMax === null) {
    const advice =
      'Give it a limit per day or in all (dealer-esim-admin key set), so that an agent in a loop cannot spend the balance.'
    throw new CommandFailed(`--allow-orders needs a key with a limit. ${advice}`, EXIT.USAGE)
  }
}

/** Sends one request after another, so that an agent in a loop leaves the account's requests per second to the shop. */
function oneAtATime(): NonNullable<DealerEsimOptions['fetch']> {
  let last: Promise<unknown> = Promise.resolve()
  return (url, init) => {
    const next = last.then(() => fetch(url, init))
    last = next.catch(() => undefined)
    return next
  }
}

const HELP = `
A client starts this command; nobody types into it. For example, in the configuration of a client:
  {"mcpServers": {"esim": {"command": "npx", "args": ["-p", "@dealer-esim/sdk", "dealer-esim", "mcp", "--allow-orders"],
    "env": {"DEALER_ESIM_BASE_URL": "…", "DEALER_ESIM_APP_KEY": "rk_…", "DEALER_ESIM_APP_SECRET_FILE": "…"}}}}

With a local gateway in this directory, its key for agents is used: \`dealer-esim mcp --allow-orders\`.

What a key may spend is decided by the gateway. docs/agents.md says what else to consider.`
