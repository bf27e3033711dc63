/*
 * Connections that a process opens beside DATABASE_POOL_SIZE. What opens them takes its number from here, or says there that
 * it has one: whoever adds a pool adds it to the sum, which operators provide for.
 */

/** Orders and look-ups of the dealers' door; the rest of the pool serves consoles and background loops. */
export const ORDER_CONNECTIONS = 6
/** Two statements under way, and one connection in hand while another is made again. */
export const ADMISSION_CONNECTIONS = 3
/** It listens and tells: lib/postgres/wakeups.ts. */
const WAKE_CONNECTIONS = 1
/** At the start: lib/postgres/migrate.ts. */
const MIGRATION_CONNECTIONS = 1

export const OTHER_CONNECTIONS = ORDER_CONNECTIONS + ADMISSION_CONNECTIONS + WAKE_CONNECTIONS + MIGRATION_CONNECTIONS
