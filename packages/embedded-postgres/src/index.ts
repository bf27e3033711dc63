export { type BorrowedPostgres, borrowPostgres, readRunningPostgres } from './borrow.ts'
export { DataDirInUse } from './data-dir-lock.ts'
export { StartError } from './start-error.ts'
export { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './start-server.ts'
