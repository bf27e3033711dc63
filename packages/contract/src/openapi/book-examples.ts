import { RESTORE_NOTE } from '#schemas/books.ts'
import type { AnswerOf, RequestOf } from '#schemas/operations.ts'

/*
 * Examples of the ledger's operations: the tree, keys and checkpoint of test/vectors/books.json, so that a reader can verify them.
 */

type BookOperation = 'ledger/checkpoint' | 'ledger/proof' | 'ledger/consistency' | 'ledger/keys'

export const bookRequests: { [N in BookOperation]: RequestOf<N> } = {
  'ledger/checkpoint': {},
  'ledger/proof': { entryNo: '6', treeSize: 8 },
  'ledger/consistency': { fromSize: 6, toSize: 8 },
  'ledger/keys': {},
}

export const bookAnswers: { [N in BookOperation]: AnswerOf<N> } = {
  'ledger/checkpoint': {
    treeSize: 8,
    rootHash: 'BIe9Yc2gjZvJW002B7+8oVzv1UkIcCt/WB9NDTCI8Fo=',
    createTime: '2026-11-20T14:00:00.000Z',
    note: 'esim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676\n8\nBIe9Yc2gjZvJW002B7+8oVzv1UkIcCt/WB9NDTCI8Fo=\ntime 2026-11-20T14:00:00.000Z\n\n— esim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676 mwn0ixKi3VBGlfMt2l7B0vijG9V+rkZgBhX9/zjGSZ+fvvjmgkRokNb8fmJFKAht786IHbjrdFUhAp4CNV0qHdnv0g0=\n',
  },
  'ledger/proof': {
    leafIndex: 5,
    treeSize: 8,
    hashes: [
      'bGevWK0AiZabh8+llNP9Ax1vAUMK0l+uLMN+Wn/TU4Q=',
      'VF9a7jJSomVkF4RjzDpyu4dqVNok+k8Hw1dds/9aHnQ=',
      'E9e0diR4LHPbG8nE1yrslXKvnfmZn5bL9CqkPEa2pOs=',
    ],
  },
  'ledger/consistency': {
    hashes: [
      '27t0MGj4RpeDVFF/wKdFpedwwWPlsAKIezPdxxnqjmg=',
      'VF9a7jJSomVkF4RjzDpyu4dqVNok+k8Hw1dds/9aHnQ=',
      'E9e0diR4LHPbG8nE1yrslXKvnfmZn5bL9CqkPEa2pOs=',
    ],
  },
  'ledger/keys': {
    keys: [
      {
        publicKey: 'iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=',
        validFrom: '2026-11-01T00:00:00.000Z',
        validUntil: '2026-12-01T00:00:00.000Z',
        endorsement: null,
      },
      {
        publicKey: 'gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=',
        validFrom: '2026-12-01T00:00:00.000Z',
        validUntil: null,
        endorsement:
          'dealer-esim-key\ngTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=\n2026-12-01T00:00:00.000Z\n\n— dealer-esim-keys w6odb1N+S4w0mGVPKIsJospyYzW2WMc+NdNAxFuQFkMHb5ZmQOTscAcvZc84lcgit7MG80X6f4tNBRbGig6+hVjOTAU=\n',
      },
    ],
    restores: [RESTORE_NOTE],
  },
}
