import { runAdmin } from './program.ts'

process.exitCode = await runAdmin(process.argv.slice(2))
