import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { launch, PortTaken } from './postmaster.ts'

it('a port conflict is recognised even if the server exits before its last line arrives', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'dealer-esim-postmaster-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const postgres = join(directory, 'postgres')
  writeFileSync(
    postgres,
    '#!/bin/sh\n(sleep 0.2; echo "FATAL:  could not create any TCP/IP sockets" >&2) >/dev/null &\nexit 1\n',
  )
  chmodSync(postgres, 0o755)
  const start = launch({ postgres, initdb: '', version: '' }, { directory, account: undefined, password: '' }, () => {})
  await expect(start).rejects.toBeInstanceOf(PortTaken)
})
