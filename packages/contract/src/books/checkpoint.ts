import { fromBase64 } from '#base64.ts'
import { isSignedBy, parseNote } from './signed-note.ts'
import type { TreeHead } from './verify-proof.ts'

/** A checkpoint as its note says it. */
export interface Checkpoint extends TreeHead {
  /** Names the tree, such as `esim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676`. */
  origin: string
  createTime: string
}

/**
 * The text of a checkpoint (C2SP tlog-checkpoint, with a time as its fourth line), such as
 *
 *     esim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676
 *     1234
 *     CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
 *     time 2026-11-20T13:28:09.000Z
 */
export function checkpointText({ origin, treeSize, rootHash, createTime }: Checkpoint): string {
  return `${origin}\n${treeSize}\n${rootHash}\n${TIME}${createTime}\n`
}

const TIME = 'time '
const HASH_BYTES = 32

/** Reads the text of a checkpoint; undefined if it is malformed. Ignores lines after the time. */
function parseCheckpoint(text: string): Checkpoint | undefined {
  const [origin = '', size = '', rootHash = '', time = ''] = text.split('\n')
  const treeSize = Number(size)
  if (origin === '' || String(treeSize) !== size || !Number.isSafeInteger(treeSize) || treeSize < 0) return undefined
  if (fromBase64(rootHash, HASH_BYTES) === undefined) return undefined
  if (!/^time \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time)) return undefined
  return { origin, treeSize, rootHash, createTime: time.slice(TIME.length) }
}

/**
 * The checkpoint of a genuine note; undefined if it is malformed or not signed by one of these keys. The key's name is the
 * note's origin. Compare `origin` with that of an earlier checkpoint: another origin is another dealer's tree.
 * @param publicKeys base64 of 32 bytes each, as `ledger/keys` returns them. Trust a new one only by its endorsement.
 */
export async function verifyCheckpoint(
  note: string,
  publicKeys: readonly string[],
): Promise<(Checkpoint & { publicKey: string }) | undefined> {
  const parsed = parseNote(note)
  const checkpoint = parsed && parseCheckpoint(parsed.text)
  if (parsed === undefined || checkpoint === undefined) return undefined
  for (const publicKey of publicKeys) {
    if (await isSignedBy(parsed, checkpoint.origin, publicKey)) return { ...checkpoint, publicKey }
  }
  return undefined
}
