/** A promise, and the tests that attack it. Their seeds differ from round to round. */
export interface Attack {
  promise: string
  /** The page that makes the promise, from the root of the repository. */
  page: string
  /** What is done, as the report says it. */
  attack: string
  project: 'system' | 'deployment'
  files: readonly string[]
  env?: Readonly<Record<string, string>>
}

const GATEWAY = 'packages/gateway/test'

/** In this order, from the beginning again until the time is over. */
export const ATTACKS: readonly Attack[] = [
  {
    promise: 'An acknowledged order exists, is debited once and delivered once',
    page: 'docs/availability.md',
    attack:
      'kill -9 of the gateway, the database server and its processes at random moments under orders, top-ups and actions',
    project: 'deployment',
    files: [`${GATEWAY}/orders/crash.deployment.test.ts`],
  },
  {
    promise: 'A death at any statement of an order leaves it placed or not placed',
    page: 'docs/idempotency.md',
    attack: 'the process ends at each failpoint of placing an order',
    project: 'deployment',
    files: [`${GATEWAY}/orders/failpoints.deployment.test.ts`],
  },
  {
    promise: 'No eSIM is bought twice or lost, and none is refunded twice',
    page: 'docs/suppliers.md',
    attack: 'the worker ends at each failpoint of buying, topping up, cancelling, revoking and suspending',
    project: 'deployment',
    files: [
      `${GATEWAY}/fulfilment/crash.deployment.test.ts`,
      `${GATEWAY}/fulfilment/cancel-crash.deployment.test.ts`,
      `${GATEWAY}/orders/topups/crash.deployment.test.ts`,
      `${GATEWAY}/esims/actions/crash.deployment.test.ts`,
    ],
  },
  {
    promise: 'Every event arrives at least once',
    page: 'docs/webhooks.md',
    attack: 'kill -9 of the sender, again and again',
    project: 'deployment',
    files: [`${GATEWAY}/webhooks/crash.deployment.test.ts`],
  },
  {
    promise: 'A failover loses no acknowledged order and accepts no request twice',
    page: 'docs/availability.md',
    attack: 'the primary dies, its connections fall silent, or it is cut off and goes on; the standby is promoted',
    project: 'deployment',
    files: [`${GATEWAY}/platform/deployment/failover.deployment.test.ts`],
    env: { FAILOVER_ROUNDS: '1' },
  },
  {
    promise: 'Nodes may join, leave and die; a database that hangs changes nothing',
    page: 'docs/availability.md',
    attack: 'workers and API nodes are killed and stopped under load; locks are held and connections stop answering',
    project: 'deployment',
    files: [
      `${GATEWAY}/http/dealer/several-nodes.deployment.test.ts`,
      `${GATEWAY}/orders/dead-node.deployment.test.ts`,
      `${GATEWAY}/orders/stalled-database.deployment.test.ts`,
    ],
  },
  {
    promise: 'A full disk loses nothing',
    page: 'docs/running.md',
    attack: 'the disk of the database is filled under load, and freed again',
    project: 'deployment',
    files: ['test/torture/full-disk.deployment.test.ts'],
  },
  {
    promise: 'A clock that jumps refuses nobody and repeats nothing',
    page: 'docs/running.md',
    attack: 'the clocks of nodes and of the database are set forward and back under load',
    project: 'deployment',
    files: [`${GATEWAY}/platform/deployment/clock-steps.deployment.test.ts`],
  },
  {
    promise: 'An answer of a supplier that is lost or late buys nothing twice',
    page: 'docs/suppliers.md',
    attack: 'suppliers hang, lose every tenth answer and refuse for lack of money; supplier and ledger are counted',
    project: 'deployment',
    files: [`${GATEWAY}/wholesalers/faults.deployment.test.ts`],
  },
  {
    promise: 'A dealer is moved between cells without a loss',
    page: 'docs/scaling.md',
    attack: 'the command is killed at its steps under load, and run again',
    project: 'deployment',
    files: [`${GATEWAY}/cells/move-load.deployment.test.ts`],
  },
  {
    promise: 'Repeated, reordered and malformed requests are answered as documented',
    page: 'docs/idempotency.md',
    attack:
      'random sequences against a model with crashes between them; replayed RequestIDs over nodes; fuzzed bodies, headers and bytes',
    project: 'system',
    files: [
      `${GATEWAY}/model/model.test.ts`,
      `${GATEWAY}/wallet/model.test.ts`,
      `${GATEWAY}/tenants/admission/request-ids.test.ts`,
      `${GATEWAY}/tenants/admission/request-id-slots.test.ts`,
      `${GATEWAY}/http/dealer/fuzz.test.ts`,
    ],
  },
  {
    promise: 'The books show every entry that was changed',
    page: 'docs/books.md',
    attack:
      'entries, hashes and checkpoints are changed through SQL; the loop that keeps the books ends at each failpoint',
    project: 'system',
    files: ['test/books/audit.test.ts', `${GATEWAY}/wallet/books.test.ts`, `${GATEWAY}/wallet/books-file.test.ts`],
  },
]
