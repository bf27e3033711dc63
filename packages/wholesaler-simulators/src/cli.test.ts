import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { connectControls } from './simulator.ts'

function start(...args: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'cli.ts'), ...args])
  return { child, exit: once(child, 'exit') }
}

it('the command prints its address, sells, and ends when its standard input closes', async () => {
  const { child, exit } = start('zendit', '--catalogue-size', '10', '--balance', '5')
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { kind, url, credentials, controlUrl } = JSON.parse(line)
  expect(kind).toBe('zendit')
  const response = await fetch(`${url}/balance`, { headers: { Authorization: `Bearer ${credentials.apiKey}` } })
  expect(await response.json()).toMatchObject({ availableBalance: 500 })
  expect(await connectControls(controlUrl).counters()).toMatchObject({ requests: 1, balance: 50_000 })
  child.stdin.end()
  expect(await exit).toEqual([0, null])
})

it('the command prints its usage if the kind is unknown', async () => {
  const { child, exit } = start('other')
  const [line] = (await once(createInterface(child.stderr), 'line')) as [string]
  expect(line).toContain('wholesaler-simulator KIND')
  expect(await exit).toEqual([2, null])
})
