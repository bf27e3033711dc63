import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  copyUsedDataDir,
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../packages/gateway/test/harness/processes/gateway-process.ts'

export const root = new URL('..', import.meta.url).pathname.replace(/\/$/, '')

export interface LocalGateway {
  process: GatewayProcess
  /** A directory that contains the gateway's .data, like the one in which `npm start` runs. */
  cwd: string
  credentials: { baseUrl: string; appKey: string; appSecret: string }
  /** The credentials as environment variables. */
  env: Record<string, string>
}

/** Starts a local gateway with its demo account on the data of an earlier start. `stopGateways` ends it. */
export async function startLocalGateway(): Promise<LocalGateway> {
  const cwd = temporaryFolder('docs')
  const dataDir = join(cwd, '.data')
  await copyUsedDataDir(dataDir)
  const process = await startGateway({ dataDir })
  const credentials = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  const env = {
    DEALER_ESIM_BASE_URL: credentials.baseUrl,
    DEALER_ESIM_APP_KEY: credentials.appKey,
    DEALER_ESIM_APP_SECRET: credentials.appSecret,
  }
  return { process, cwd, credentials, env }
}
