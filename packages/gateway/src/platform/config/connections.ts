/*
 * Connections that a process opens in addition to DATABASE_POOL_SIZE. Operators plan for the total, so every new pool must
 * be added here.
 */

/** For placing and looking up orders in the dealer API. */
export const ORDER_CONNECTIONS = 6
/** Two concurrent statements, and one to spare while a connection is replaced. */
export const ADMISSION_CONNECTIONS = 3
/**
 * For test twins, once a dealer has one: few, so that their work waits instead of that of live dealers. General, orders and
 * admission.
 */
export const TWIN_CONNECTIONS = { general: 4, orders: 2, admission: 2 }
/** For LISTEN and NOTIFY: packages/lib/src/postgres/wakeups.ts. */
const WAKE_CONNECTIONS = 1
/** During the start: packages/lib/src/postgres/migrations.ts. */
const MIGRATION_CONNECTIONS = 1

export const OTHER_CONNECTIONS = ORDER_CONNECTIONS + ADMISSION_CONNECTIONS + WAKE_CONNECTIONS + MIGRATION_CONNECTIONS

/** What a process opens once a dealer has a test twin. */
export const ALL_TWIN_CONNECTIONS =
  TWIN_CONNECTIONS.general + TWIN_CONNECTIONS.orders + TWIN_CONNECTIONS.admission + WAKE_CONNECTIONS
