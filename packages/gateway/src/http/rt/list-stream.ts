import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { LoadShedder } from '../load-shedding/load-shedder.ts'
import { createListSink, isGone, type ListSink } from './list-sink.ts'

/** An answer with one long list, built and written part by part. */
export class ListStream {
  /** The member of `obj` that is the list. */
  readonly member: string
  /** The first page is built before the answer begins, so that its failures are answered like all others. */
  readonly pages: AsyncIterator<readonly object[], void>
  /** Quoted; undefined if the answer depends on more than the catalogue. */
  readonly etag: string | undefined

  constructor(member: string, pages: AsyncIterator<readonly object[], void>, etag: string | undefined) {
    this.member = member
    this.pages = pages
    this.etag = etag
  }

  /** @param ifNoneMatch the request's header, which may have several tags */
  isKnown(ifNoneMatch: string | undefined): boolean {
    const known = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
    return this.etag !== undefined && known?.includes(this.etag) === true
  }
}

/** Written in one call. If the reader is slow, the writer waits after each part. */
const PART_BYTES = 64 * 1024
/** A slow reader's memory: one part, and what Node and a compressor buffer before they signal back-pressure. */
const HELD_BYTES = 3 * PART_BYTES
/** A reader that reads nothing for this long is cut off. */
const STALLED_MS = 30_000
/** Limits how long one reader keeps a snapshot of the catalogue in memory. */
const LASTS_MAX_MS = 120_000
const OF_TENANT_MAX = 8
/** All streams together hold at most 48 MiB. */
const STREAMS_MAX = 256
/** The pause before the next try if too many of this tenant's pages are waiting for their turn. */
const BETWEEN_TRIES_MS = 50

export interface ListWriter {
  /** @throws ApiError 000002 if too many lists are being written */
  begin(tenantId: string): void
  /** Writes the body and ends the answer. Call it once for each `begin`. @returns false if the reader was cut off or left */
  write(
    response: ServerResponse,
    tenantId: string,
    list: ListStream,
    envelope: readonly [string, string],
    isZipped?: boolean,
  ): Promise<boolean>
}

/**
 * Writes lists using memory that does not depend on their length: each page is built after its reader has taken the
 * previous one, even if the list is compressed.
 */
export function createListWriter(
  { turns, unread }: Pick<LoadShedder, 'turns' | 'unread'>,
  { stalledMs = STALLED_MS, lastsMaxMs = LASTS_MAX_MS } = {},
): ListWriter {
  const ofTenant = new Map<string, number>()
  let all = 0

  function end(tenantId: string): void {
    all--
    const others = ofTenant.get(tenantId)! - 1
    if (others > 0) ofTenant.set(tenantId, others)
    else ofTenant.delete(tenantId)
  }

  async function takeTurn(response: ServerResponse, tenantId: string): Promise<void> {
    while (!isGone(response)) {
      try {
        await turns.take(tenantId)
        return
      } catch {
        await delay(BETWEEN_TRIES_MS)
      }
    }
  }

  async function writeParts(
    response: ServerResponse,
    sink: ListSink,
    tenantId: string,
    list: ListStream,
    [before, after]: readonly [string, string],
  ): Promise<void> {
    let part = `${before}{"${list.member}":[`
    let separator = ''
    let isWatched = false
    for (let page = await list.pages.next(); !page.done; page = await list.pages.next()) {
      for (const item of page.value) {
        part += separator + JSON.stringify(item)
        separator = ','
        if (part.length < PART_BYTES) continue
        if (!sink.write(part)) {
          if (!isWatched && response.writableNeedDrain) {
            unread.watch(response, HELD_BYTES, tenantId)
            isWatched = true
          }
          await sink.ready()
        }
        part = ''
      }
      await takeTurn(response, tenantId)
      if (isGone(response)) return
    }
    await sink.end(`${part}]}${after}`)
  }

  return {
    begin(tenantId) {
      const own = ofTenant.get(tenantId) ?? 0
      if (own >= OF_TENANT_MAX || all >= STREAMS_MAX) throw new ApiError('000002')
      ofTenant.set(tenantId, own + 1)
      all++
    },
    async write(response, tenantId, list, envelope, isZipped = false) {
      const { socket } = response.req
      const sink = createListSink(response, { stalledMs, isZipped })
      const lasts = setTimeout(() => socket.destroy(), lastsMaxMs)
      try {
        await writeParts(response, sink, tenantId, list, envelope)
      } finally {
        clearTimeout(lasts)
        sink.close()
        end(tenantId)
        await list.pages.return?.()
        // Cuts off the connection, so that the caller does not mistake the part that it has for the complete list.
        if (!response.writableEnded) socket.destroy()
      }
      return response.writableEnded
    },
  }
}
