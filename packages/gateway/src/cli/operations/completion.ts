import { COMPLETION_SHELLS, completionScript } from '@dealer-esim/sdk/completion'
import type { Command } from 'commander'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'

export function completionCommand(completion: Command, context: AdminContext): void {
  completion
    .description('Print a script that completes commands and options in bash or zsh.')
    .argument('<shell>', COMPLETION_SHELLS.join(' or '))
    .addHelpText('after', '\nExample:\n  eval "$(dealer-esim-admin completion bash)"')
    .action((name: string) => {
      const shell = COMPLETION_SHELLS.find((known) => known === name)
      if (!shell) throw new UsageError(`The shell must be ${COMPLETION_SHELLS.join(' or ')}, not “${name}”.`)
      const script = completionScript('dealer-esim-admin', completion.parent!, shell)
      context.print(script.trimEnd(), { script })
    })
}
