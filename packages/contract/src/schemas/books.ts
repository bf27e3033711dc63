import Type, { type Static } from 'typebox'
import { CLOSED, nullable, quantity, time } from './scalars.ts'

const HASH_PATTERN = '^[A-Za-z0-9+/]{43}=$'
const EXAMPLE_HASH = 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I='

const treeSize = (description: string) => quantity({ description, examples: [1234] })

const hash = (description: string) =>
  Type.String({
    pattern: HASH_PATTERN,
    description: `${description}, base64 (RFC 4648 section 4)`,
    examples: [EXAMPLE_HASH],
  })

const hashes = (description: string) => Type.Array(hash('A hash of the tree'), { description })

export const checkpointRequest = Type.Object(
  {
    treeSize: Type.Optional(
      treeSize('A checkpoint of exactly this many entries. Absent: of the newest entry that is in the tree.'),
    ),
  },
  CLOSED,
)
export type CheckpointRequest = Static<typeof checkpointRequest>

export const checkpointAnswer = Type.Object({
  treeSize: treeSize('The entries 1 to this one are covered'),
  rootHash: hash('The root of the Merkle tree (RFC 9162) over these entries'),
  createTime: time(),
  note: Type.String({
    description:
      'The checkpoint as a signed note (C2SP tlog-checkpoint): origin, size, root, time, and an Ed25519 signature. Keep it: it is what you hold against later answers.',
    examples: [
      `esim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676\n1234\n${EXAMPLE_HASH}\ntime 2026-11-20T13:28:09.000Z\n\n— esim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676 Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n`,
    ],
  }),
})
export type CheckpointAnswer = Static<typeof checkpointAnswer>

export const proofRequest = Type.Object(
  {
    entryNo: Type.String({
      pattern: '^[1-9][0-9]{0,15}$',
      description: 'The entry of `account/statement` to prove.',
      examples: ['7'],
    }),
    treeSize: treeSize('The `treeSize` of the checkpoint that shall contain it'),
  },
  CLOSED,
)
export type ProofRequest = Static<typeof proofRequest>

export const proofAnswer = Type.Object({
  leafIndex: quantity({ description: '`entryNo` - 1', examples: [6] }),
  treeSize: treeSize('As in the request'),
  hashes: hashes('The inclusion proof of RFC 9162 section 2.1.3.1'),
})
export type ProofAnswer = Static<typeof proofAnswer>

export const consistencyRequest = Type.Object(
  {
    fromSize: quantity({ minimum: 1, description: 'The `treeSize` of the older checkpoint', examples: [1200] }),
    toSize: treeSize('The `treeSize` of the newer checkpoint'),
  },
  CLOSED,
)
export type ConsistencyRequest = Static<typeof consistencyRequest>

export const consistencyAnswer = Type.Object({
  hashes: hashes('The consistency proof of RFC 9162 section 2.1.4.1; empty for equal sizes'),
})
export type ConsistencyAnswer = Static<typeof consistencyAnswer>

export const keysRequest = Type.Object({}, CLOSED)
export type KeysRequest = Static<typeof keysRequest>

export const ledgerKey = Type.Object({
  publicKey: Type.String({
    pattern: HASH_PATTERN,
    description: 'The 32 bytes of an Ed25519 key, base64',
    examples: ['11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='],
  }),
  validFrom: time(),
  validUntil: nullable(time({ description: 'null: it still signs' })),
  endorsement: nullable(
    Type.String({
      description:
        'A note by which an earlier key signs this one, under the key name `dealer-esim-keys`. Trust a key because you trust its endorser; null: the first key.',
    }),
  ),
})
export type LedgerKey = Static<typeof ledgerKey>

/** Its last line is the signature. */
export const RESTORE_NOTE =
  'dealer-esim-restore\nesim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676\n1200\n2026-11-20T13:28:09.000Z\n\n— dealer-esim-keys Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n'

export const keysAnswer = Type.Object({
  keys: Type.Array(ledgerKey, { description: 'The keys of every cell that has signed for this tenant, oldest first.' }),
  restores: Type.Array(Type.String(), {
    examples: [[RESTORE_NOTE]],
    description:
      'A signed note for each restore from a backup, oldest first: entries after the size that it names were lost, and their numbers used again.',
  }),
})
export type KeysAnswer = Static<typeof keysAnswer>
