import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'

export interface SetupOptions {
  file: string
  dryRun?: boolean
  deployment?: string
  publicUrl?: string
  databaseAdmin?: string
  databaseName: string
  databaseUrl?: string
  host?: string
  port?: string
  proxies?: string
  tlsCert?: string
  tlsKey?: string
  smtpUrl?: string
  mailFrom?: string
  operatorEmail?: string
  operatorName?: string
}

/** The variable that each option sets. */
const VARIABLES = {
  ...{ deployment: 'DEPLOYMENT', publicUrl: 'PUBLIC_URL', databaseUrl: 'DATABASE_URL', host: 'HOST', port: 'PORT' },
  ...{ proxies: 'TRUSTED_PROXIES', tlsCert: 'TLS_CERT_FILE', tlsKey: 'TLS_KEY_FILE', smtpUrl: 'SMTP_URL' },
  mailFrom: 'MAIL_FROM',
} as const

const FILES: readonly string[] = ['tlsCert', 'tlsKey']

/** Paths become absolute, because the service runs in another folder. */
export function settingsOf(options: SetupOptions): Record<string, string> {
  const pairs = Object.entries(VARIABLES).flatMap(([option, variable]) => {
    const value = options[option as keyof typeof VARIABLES]
    return value ? [[variable, FILES.includes(option) ? resolve(value) : value] as const] : []
  })
  return Object.fromEntries(pairs)
}

/** A question about one option, unless options or the file already answer it. */
interface Question {
  option: keyof typeof VARIABLES | 'databaseAdmin' | 'operatorEmail' | 'operatorName'
  text: string
  default?: string
  /** False if the answers so far make the question unnecessary. */
  applies?(options: SetupOptions): boolean
}

const QUESTIONS: readonly Question[] = [
  { option: 'deployment', text: 'Deployment: test or production', default: 'production' },
  { option: 'publicUrl', text: 'URL under which dealers will reach the gateway, such as https://esim.example.com' },
  {
    option: 'databaseAdmin',
    text: "PostgreSQL administrator's URL, to create a role and a database (empty: they exist)",
    applies: ({ databaseUrl }) => !databaseUrl,
  },
  {
    option: 'databaseUrl',
    text: "URL of the gateway's database, such as postgres://user:password@host:5432/database",
    applies: ({ databaseAdmin }) => !databaseAdmin,
  },
  {
    option: 'proxies',
    text: 'Addresses of the proxies that terminate TLS (empty: the gateway terminates it)',
    applies: ({ tlsCert }) => !tlsCert,
  },
  { option: 'tlsCert', text: 'Certificate chain file, in PEM', applies: ({ proxies }) => !proxies },
  { option: 'tlsKey', text: 'Private key file, in PEM', applies: ({ proxies }) => !proxies },
  { option: 'smtpUrl', text: 'Mail server, such as smtps://user:password@host:465 (empty: no e-mail)' },
  {
    option: 'mailFrom',
    text: 'Sender of e-mails, such as esim@example.com',
    applies: ({ smtpUrl }) => Boolean(smtpUrl),
  },
  { option: 'operatorEmail', text: 'E-mail address of the first operator' },
  { option: 'operatorName', text: 'Their name', applies: ({ operatorEmail }) => Boolean(operatorEmail) },
]

/** Asks on the terminal for everything that neither the options nor the file provide. */
export async function askMissing(
  options: SetupOptions,
  existing: Readonly<Record<string, string>>,
): Promise<SetupOptions> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answers = { ...options }
  try {
    for (const { option, text, default: usual, applies = () => true } of QUESTIONS) {
      const variable = VARIABLES[option as keyof typeof VARIABLES]
      const isAnswered = answers[option] || (variable && existing[variable])
      if (isAnswered || !applies({ ...fromFile(existing), ...answers })) continue
      const answer = (await terminal.question(`${text}${usual ? ` [${usual}]` : ''}: `)).trim() || usual
      if (answer) answers[option] = answer
    }
    return answers
  } finally {
    terminal.close()
  }
}

function fromFile(existing: Readonly<Record<string, string>>): Partial<SetupOptions> {
  return Object.fromEntries(
    Object.entries(VARIABLES).flatMap(([option, name]) => (existing[name] ? [[option, existing[name]]] : [])),
  )
}
