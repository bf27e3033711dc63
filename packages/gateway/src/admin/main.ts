import { runAdmin } from './program.ts'

// Whoever reads our output may have seen enough (`… | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await runAdmin(process.argv.slice(2))
