import { Command } from 'commander'
import { expect, test } from 'vitest'
import { adminContext } from '../kernel/context.ts'
import { backupCommand } from './backup.ts'

test('a backup to “-” is refused: it would be a file of that name', async () => {
  const program = new Command('admin')
  backupCommand(program.command('backup'), adminContext(program))
  await expect(program.parseAsync(['backup', '-'], { from: 'user' })).rejects.toThrow('not written to standard output')
})
