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
  /** A directory with the gateway's .data in it, as where `npm start` runs. */
  cwd: string
  credentials: { baseUrl: string; appKey: string; appSecret: string }
  /** The same for programs that read the environment. */
  env: Record<string, string>
}

/** A local gateway with its demo account, as a newcomer starts it, the second time. `stopGateways` ends it. */
export async function localGateway(): Promise<LocalGateway> {
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
