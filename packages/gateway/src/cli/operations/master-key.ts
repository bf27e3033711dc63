import type { Command } from 'commander'
import { getKeyState, type RotationProgress, rotateMasterKey } from '#platform/deployment/rotate-master-key.ts'
import { withTwins } from '../kernel/cli-deps.ts'
import type { AdminContext } from '../kernel/context.ts'
import { progressBar } from '../kernel/progress-bar.ts'
import { fields, table } from '../kernel/text-table.ts'

export function masterKeyCommands(masterKey: Command, context: AdminContext): void {
  show(masterKey, context)
  rotate(masterKey, context)
}

function show(masterKey: Command, context: AdminContext): void {
  masterKey
    .command('show')
    .description(
      'Show the fingerprints of the keys, whether a rotation is in progress, and which keys the connected gateways know.',
    )
    .action(() =>
      context.withDeps(async (deps) => {
        const { db, cipher } = deps
        const ofDealers = await getKeyState(db, cipher)
        const ofTwins = await withTwins(
          deps,
          { create: false },
          async (twins) => twins && getKeyState(twins.db, cipher),
        )
        const state = { ...ofDealers, outdated: ofDealers.outdated + (ofTwins?.outdated ?? 0) }
        const { fingerprint, configured, rotatingTo, keyIds, outdated, connected } = state
        const key = (whole: string, id: string | null) => (id === null ? whole : `${id} (fingerprint ${whole})`)
        const summary = fields([
          ['the database’s key', key(fingerprint, keyIds.fingerprint)],
          ['first in MASTER_KEY', key(configured, keyIds.configured)],
          ['rotation', rotatingTo === null ? 'none' : `to ${key(rotatingTo, keyIds.rotatingTo)}`],
          ['encrypted under other keys', String(outdated)],
        ])
        const peers = table(
          connected,
          [
            { title: 'connected from', value: (peer) => peer.address ?? 'this machine' },
            { title: 'process', value: (peer) => (peer.pid === null ? '' : String(peer.pid)), right: true },
            { title: 'is', value: (peer) => (peer.part === 'admin' ? 'a command' : 'a gateway') },
            { title: 'connections', value: (peer) => String(peer.connections), right: true },
            { title: 'encrypts under', value: (peer) => peer.keyIds[0]! },
            { title: 'also knows', value: (peer) => peer.keyIds.slice(1).join(', ') },
          ],
          'No gateway is connected.',
        )
        context.print(`${summary}\n\n${peers}`, state)
      }),
    )
}

function rotate(masterKey: Command, context: AdminContext): void {
  masterKey
    .command('rotate')
    .description(
      'Encrypt all stored secrets under the first key of MASTER_KEY, while gateways are running. Before that, restart every gateway twice: with the new key second in MASTER_KEY, then with the new key first. If the command is interrupted, run it again to continue.',
    )
    .addHelpText('after', '\nExample:\n  MASTER_KEY="$NEW_KEY,$OLD_KEY" npm run -s admin -- master-key rotate')
    .action(() =>
      context.withDeps(async (deps) => {
        const bar = progressBar(context)
        try {
          const onProgress = ({ done, total }: RotationProgress) =>
            bar.show(done / total, `${done} of ${total} rewritten`)
          const { fingerprint, ...ofDealers } = await rotateMasterKey(deps, context.by, onProgress)
          const ofTwins = await withTwins(deps, { create: false }, async (twins) =>
            twins ? (await rotateMasterKey(twins, context.by, onProgress)).rewritten : 0,
          )
          const rewritten = ofDealers.rewritten + ofTwins
          bar.end()
          const isAlone = deps.cipher.keyIds.length === 1
          const next = isAlone
            ? rewritten === 0
              ? ' To rotate, put a new key second in MASTER_KEY everywhere, then first everywhere, and run this again.'
              : ''
            : ' Remove the old key from MASTER_KEY everywhere, and store it with the older backups.'
          const done = rewritten === 0 ? 'nothing had to be rewritten' : `${rewritten} secrets were rewritten`
          const human = `Everything is encrypted under the key ${deps.cipher.keyIds[0]} (fingerprint ${fingerprint}); ${done}.${next}`
          context.print(human, { fingerprint, rewritten })
        } finally {
          bar.end()
        }
      }),
    )
}
