import { secretFileName } from './variable-text.ts'
import { VARIABLES, type Variable } from './variables.ts'

/** Writes docs/configuration.md, the table of variables for operators. */
export function configurationMarkdown(): string {
  return `${[INTRODUCTION, '', HEADER, ...Object.values<Variable<unknown>>(VARIABLES).map(row), '', NOTES].join('\n')}\n`
}

const INTRODUCTION = `# Configuration

The gateway is configured by environment variables and three arguments: \`--role api\`, \`--role worker\` or \`--role all\`
(the default) decides whether this process serves requests, does background work, or both. \`--recovery TIME\` begins a recovery
after a [point-in-time restore](point-in-time.md#starting-the-gateway-in-recovery). \`--trial\` adds a simulated wholesaler to a
local gateway (see [Suppliers](suppliers.md)). If the configuration has faults, the gateway lists all of them and exits with code 78
before it starts anything.

Settings that can change while the gateway runs are [in the console](#settings-in-the-console).

This page is generated from the table in the code by \`npm run configuration\`.`

const HEADER = `| variable | default | meaning |
|---|---|---|`

const NOTES = `\`dealer-esim-admin config list\` prints every variable, its value and where it comes from, even if the configuration has faults.
Secrets are masked.

Each secret can be in a file instead of the environment, which other programs can often read: \`MASTER_KEY_FILE=/run/secrets/key\`
instead of \`MASTER_KEY\`. White space at the end is removed. A changed file takes effect at the next start.

Rules that concern several variables:

- A local deployment listens on loopback only. Only a local deployment creates a demo tenant and stores secrets in \`DATA_DIR\`.
- Test and production deployments require HTTPS: \`PUBLIC_URL\` and \`CONSOLE_URL\` must begin with \`https://\`, and either
  \`TLS_CERT_FILE\` and \`TLS_KEY_FILE\` are set or \`TRUSTED_PROXIES\` lists the proxies that terminate TLS.
- \`PORT\`, \`CONSOLE_PORT\` and \`METRICS_PORT\` must differ, even between processes on one machine.
- A database keeps its \`DEPLOYMENT\`: a local gateway, its trial (\`--trial\`) or a test gateway cannot become production. Begin
  production with an empty database ([Going live](operator-going-live.md)).
- All nodes of one deployment share \`DATABASE_URL\`, \`MASTER_KEY\`, \`PUBLIC_URL\`, \`DEPLOYMENT\`,
  \`DATABASE_SCHEMA\` and \`CELL_NAME\`.
- \`DATABASE_URL\` takes the parameters of libpq, such as \`?sslmode=verify-full\`, and an unknown one is refused. What it leaves out
  comes from \`PGHOST\`, \`PGPORT\`, \`PGUSER\`, \`PGPASSWORD\`, \`PGDATABASE\`, \`PGOPTIONS\` and \`PGSSLMODE\` if they are set. None
  of these variables applies to the embedded PostgreSQL.
- \`DATA_DIR\` must be on one machine: its lock works between processes of one machine, not between containers on shared storage.

## Settings in the console

*Settings* shows the operator’s people the variables of the process that answers: which are set, and which have their default.
Secrets are not shown. To change a variable, set it in the environment of every node and restart the nodes one after another.

There an administrator can also set the following. It applies to all nodes, and each change is recorded in the audit log:

- the requests per second of new dealers; a dealer’s own limit is on its *Settings* tab;
- who receives the operator’s alerts by e-mail. Without addresses, \`OPERATOR_EMAIL\` applies;
- whether dealers’ administrators may create [test twins](testing.md#the-test-twin). By default they may.

*Send test e-mail* sends one to your own address immediately and shows what the mail server answered. The page also lists how long data is
kept. Bank details, legal details and the limit above which two people must confirm a payment are under
[Payments and statements](portal.md#payments-and-statements).`

function row({ name, description, default: value, requiredOn, secret }: Variable<unknown>): string {
  const otherwise = requiredOn ? `required on ${requiredOn.join(' and ')}` : '–'
  const secrecy = secret ? ` Secret; or in a file: \`${secretFileName(name)}\`.` : ''
  return `| \`${name}\` | ${value ? `\`${value}\`` : otherwise} | ${description}${secrecy} |`
}
