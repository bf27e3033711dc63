import { VARIABLES, type Variable } from './variables.ts'

/** docs/configuration.md: the table of variables, for operators. */
export function configurationMarkdown(): string {
  return `${[INTRODUCTION, '', HEADER, ...Object.values<Variable<unknown>>(VARIABLES).map(row), '', NOTES].join('\n')}\n`
}

const INTRODUCTION = `# Configuration

The gateway is configured by environment variables and one argument: \`--role api\`, \`--role worker\` or \`--role all\`
(the default) says whether this process serves requests, works in the background, or both. A configuration with faults
is refused before anything starts, with every fault in a sentence and exit code 78.

This page is written from the table in the code by \`npm run configuration\`.`

const HEADER = `| variable | default | meaning |
|---|---|---|`

const NOTES = `Rules that concern several variables:

- A local deployment listens on loopback only, and only it makes a demo tenant and keeps secrets in \`DATA_DIR\`.
- Test and production deployments are reached by HTTPS only: \`PUBLIC_URL\` and \`CONSOLE_URL\` begin with \`https://\`, and either
  \`TLS_CERT_FILE\` and \`TLS_KEY_FILE\` are set or \`TRUSTED_PROXIES\` names who ends TLS.
- \`PORT\`, \`CONSOLE_PORT\` and \`METRICS_PORT\` differ, and so do those of several processes on one machine.
- All nodes of one deployment share \`DATABASE_URL\`, \`MASTER_KEY\`, \`PUBLIC_URL\` and \`DEPLOYMENT\`.
- \`DATA_DIR\` belongs to one machine: its lock tells processes of one machine apart, not containers on shared storage.`

function row({ name, description, default: value, requiredOn, secret }: Variable<unknown>): string {
  const otherwise = requiredOn ? `required on ${requiredOn.join(' and ')}` : '–'
  return `| \`${name}\` | ${value ? `\`${value}\`` : otherwise} | ${description}${secret ? ' Secret.' : ''} |`
}
