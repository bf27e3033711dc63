export { DataDirInUse } from './data-dir-lock.ts'
export { type BorrowedPostgres, borrowPostgres, readRunningPostgres } from './running.ts'
export { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './start.ts'
