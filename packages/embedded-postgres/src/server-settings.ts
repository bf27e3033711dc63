/** The settings that can differ between two starts. The table below contains the others. */
export interface Settings {
  port: number
  /** False only in tests, whose data need not survive a power cut. */
  fsync: boolean
  maxConnections: number
}

/** The embedded server's settings, each with its reason. Settings that are not listed keep PostgreSQL's defaults. */
const TABLE: [name: string, value: string | ((settings: Settings) => string), reason: string][] = [
  ['listen_addresses', '127.0.0.1', 'only processes on this machine connect'],
  ['port', ({ port }) => String(port), 'a free port, chosen when the gateway starts'],
  ['unix_socket_directories', '', 'socket paths have a length limit that a deep DATA_DIR would exceed'],
  ['password_encryption', 'scram-sha-256', ''],
  ['max_connections', ({ maxConnections }) => String(maxConnections), 'the pools of a few processes and an admin'],
  ['shared_buffers', '256MB', 'holds the rows that a busy day uses most; allocated only when used'],
  ['max_wal_size', '2GB', 'fewer checkpoints under a burst of writes'],
  ['checkpoint_timeout', '15min', 'as above; recovery after a crash replays at most this'],
  ['fsync', ({ fsync }) => onOff(fsync), 'a committed transaction survives a power cut'],
  ['full_page_writes', ({ fsync }) => onOff(fsync), 'needed whenever fsync is on'],
  ['synchronous_commit', ({ fsync }) => onOff(fsync), 'transactions whose loss is harmless turn it off for themselves'],
  ['random_page_cost', '1.1', 'solid-state disks'],
  ['jit', 'off', 'the statements are short; compiling them costs more than it saves'],
  ['autovacuum_naptime', '10s', 'some rows are updated thousands of times a second'],
  ['timezone', 'UTC', ''],
  ['log_timezone', 'UTC', ''],
  ['lc_messages', 'C', 'the launcher parses them'],
  ['logging_collector', 'off', 'the launcher logs what the server writes'],
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
