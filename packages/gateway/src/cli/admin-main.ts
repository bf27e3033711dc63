import { runAdmin } from './admin-program.ts'

// The reader of our output may stop reading (`… | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await runAdmin(process.argv.slice(2))
