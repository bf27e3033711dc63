import { expect, test } from 'vitest'
import { listFiles, readLines } from './repository.ts'

/*
 * No statement names a schema, so none about live dealers can find a row of a test twin (docs/decisions/0035). These are all the
 * files that reach the twins' schema, each with its reason. What reads or writes rows of all tenants does not belong here.
 */
const REASONS: Readonly<Record<string, string>> = {
  'packages/gateway/src/platform/deployment/twins-schema.ts': 'names the schema, and migrates it',
  'packages/gateway/src/platform/deployment/open-twins.ts': 'opens the dependencies of the twins',
  'packages/gateway/src/deps.ts': 'creates them, without the live store',
  'packages/gateway/src/worker.ts': 'starts their loops',
  'packages/gateway/src/http/twin-requests.ts': 'chooses them by the form of an AppKey',
  'packages/gateway/src/http/public/traveller/traveller-routes.ts': 'finds the owner of a traveller’s link by its key',
  'packages/gateway/src/http/console/people/me.ts': 'says whether the dealer of a person has a twin',
  'packages/gateway/src/http/console/tenants/test-twins.ts': 'the routes about one dealer’s twin',
  'packages/gateway/src/operations/twins/served-twin.ts': 'finds the twin of a dealer whose people are in test mode',
  'packages/gateway/src/cells/move/check-move.ts': 'finds a twin that a move would meet in the target',
  'packages/gateway/src/cli/kernel/cli-deps.ts': 'opens them for a command',
  'packages/gateway/src/cli/tenants/moving-cells.ts': 'a twin moves with its dealer',
  'packages/gateway/src/http/probes/probes-server.ts': 'reports a twin that leaves to the target of a move',
  'packages/gateway/src/cli/tenants/tenant-twin.ts': 'the commands about one dealer’s twin',
  'packages/gateway/src/cli/tenants/tenant-key.ts': 'the commands about the keys of one dealer’s twin',
  'packages/gateway/src/cli/wallet/ledger.ts': 'the twins’ ledgers are verified, and counted apart',
  'packages/gateway/src/operations/backup/restore-backup.ts': 'refuses a database with twins of another gateway',
  'packages/gateway/src/cli/operations/master-key.ts': 'the twins’ secrets are rotated, too',
}

const REACHES = /twinsSchemaOf|twinConfigOf|withTwins|twins\??\.(open|create)\(|createTwins\(|_twins\b/

test('only these files reach the schema of the test twins', () => {
  const reaching = listFiles(/^packages\/(gateway|lib)\/src\/.*\.ts$/)
    .filter((path) => !path.endsWith('.test.ts'))
    .filter((path) => readLines(path).some((line) => REACHES.test(line)))
  expect(reaching.sort()).toEqual(Object.keys(REASONS).sort())
})
