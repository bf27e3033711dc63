import { isAddressOrBlock, isInBlocks, parseBlock } from '@dealer-esim/lib/address-blocks.ts'
import Type from 'typebox'
import type { ReceivedEvent } from './supplier.ts'
import { addressesSetting } from './supplier-settings.ts'

/* The senders of unsigned events. */

export interface EventSenders {
  eventAddresses?: readonly string[]
}

export const eventAddressesMember = () => ({
  eventAddresses: Type.Optional(
    addressesSetting(
      'Senders of events',
      'Addresses and blocks from which it sends events, one a line. Without them anybody can send events, because they carry no signature.',
    ),
  ),
})

/** Checks what the schema cannot express. */
export function findEventAddressFault({ eventAddresses = [] }: EventSenders): string | undefined {
  const invalid = eventAddresses.find((block) => !isAddressOrBlock(block))
  return invalid === undefined ? undefined : `eventAddresses: ${invalid} is neither an address nor a block`
}

/** @returns whether the sender is one of the addresses; undefined: none are configured */
export function isListedSender({ eventAddresses }: EventSenders, address: string | undefined): boolean | undefined {
  if (eventAddresses === undefined) return undefined
  return address !== undefined && isInBlocks(address, eventAddresses.map(parseBlock))
}

export function unlistedSender(address: string | undefined): ReceivedEvent {
  return { kind: 'refused', message: `it came from ${address ?? 'an unknown address'}, not from eventAddresses` }
}
