/** What differs between two starts; everything else is in the table below. */
export interface Settings {
  port: number
  /** False only in the test harness: data that nobody will miss after a power cut. */
  fsync: boolean
  maxConnections: number
}

/** The embedded server's settings, each with its reason. What is not here has PostgreSQL's own default. */
const TABLE: [name: string, value: string | ((settings: Settings) => string), reason: string][] = [
  ['listen_addresses', '127.0.0.1', 'for the gateway on this machine and nobody else'],
  ['port', ({ port }) => String(port), 'a free one, chosen at the first start of this process'],
  ['unix_socket_directories', '', 'a socket path has a length limit that a deep DATA_DIR would break'],
  ['password_encryption', 'scram-sha-256', ''],
  [
    'max_connections',
    ({ maxConnections }) => String(maxConnections),
    'room for the pools of a few processes and an admin',
  ],
  [
    'shared_buffers',
    '256MB',
    'holds the hot wallets, credentials and RequestIDs of a busy day; taken from the machine as used',
  ],
  ['max_wal_size', '2GB', 'fewer checkpoints under a burst of orders'],
  ['checkpoint_timeout', '15min', 'as above; recovery after a crash replays at most this'],
  ['fsync', ({ fsync }) => onOff(fsync), 'an acknowledged order survives a power cut'],
  ['full_page_writes', ({ fsync }) => onOff(fsync), 'needed wherever fsync is'],
  [
    'synchronous_commit',
    ({ fsync }) => onOff(fsync),
    'only what may be forgotten turns it off, for itself: RequestIDs, claims of events, wake-ups',
  ],
  ['random_page_cost', '1.1', 'solid-state disks'],
  ['jit', 'off', 'statements here are short; compiling them costs more than it saves'],
  ['autovacuum_naptime', '10s', 'wallet rows are updated thousands of times a second'],
  ['timezone', 'UTC', ''],
  ['log_timezone', 'UTC', ''],
  ['lc_messages', 'C', 'the launcher reads them'],
  ['logging_collector', 'off', 'the gateway logs what the server says'],
  ['log_min_messages', 'warning', ''],
  ['log_min_error_statement', 'panic', 'a failed statement must not carry its values into the log'],
  ['log_error_verbosity', 'terse', 'details quote row values'],
  ['log_line_prefix', '', ''],
]

export function postgresqlConf(settings: Settings): string {
  const lines = TABLE.map(([name, value, reason]) => {
    const text = typeof value === 'string' ? value : value(settings)
    return `${name} = '${text}'${reason && `  # ${reason}`}`
  })
  return ['# Written by the gateway at every start; edits are lost.', ...lines, ''].join('\n')
}

function onOff(value: boolean): string {
  return value ? 'on' : 'off'
}
