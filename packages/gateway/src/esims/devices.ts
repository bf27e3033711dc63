import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DeviceListAnswer, DeviceListRequest } from '@dealer-esim/contract'
import { type CursorScope, createCursor, readCursor } from '@dealer-esim/lib/cursor.ts'
import { packageRoot } from '#platform/package-root.ts'

/** A device that is known to take an eSIM. */
export interface Device {
  brand: string
  model: string
  /** The year in which it came out. */
  since?: number
  /** Such as where it is sold without eSIM. */
  note?: string
  /**
   * How browsers name it where they do not use its model: `SM-S931` of each region, or `SM-G981B` of the one region that is known
   * to take an eSIM.
   */
  codes?: string[]
}

/** The dated table devices.json. Models differ between countries, so it is never a promise. */
export interface DeviceTable {
  /** The day on which it was compiled: `2026-11-29`. */
  asOf: string
  sources: string[]
  /** By brand, then newest first. */
  devices: Device[]
}

let table: DeviceTable | undefined

export function getDevices(): DeviceTable {
  table ??= JSON.parse(readFileSync(join(packageRoot(), 'devices.json'), 'utf8')) as DeviceTable
  return table
}

/** Finds the device that a browser names: `Pixel 8`, `SM-S931B`. */
export function findDevice(named: string): Device | undefined {
  const name = named.toUpperCase()
  return getDevices().devices.find(
    ({ model, codes = [] }) => model.toUpperCase() === name || codes.some((code) => isOfRegion(name, code)),
  )
}

/** The region is a letter: `SM-S931B`, `SM-S931U1`. With a digit, `SM-S9310`, it is sold in China, without eSIM. */
function isOfRegion(name: string, code: string): boolean {
  return name.startsWith(code) && /^([A-Z]|$)/.test(name.slice(code.length))
}

const PAGE_SIZE = 100

/** @throws ApiError 000108 for a cursor of another list */
export function listDevices(linkKey: Buffer, tenantId: string, request: DeviceListRequest): DeviceListAnswer {
  const { cursor, pageSize, ...filters } = request
  const scope: CursorScope = { list: 'device/list', tenantId, filters }
  const { devices, asOf } = getDevices()
  const brand = filters.brand?.toLowerCase()
  const words = filters.keyword?.toLowerCase().split(/\s+/).filter(Boolean) ?? []
  const found = devices.filter((device) => {
    const name = `${device.brand} ${device.model}`.toLowerCase()
    return (brand == null || device.brand.toLowerCase() === brand) && words.every((word) => name.includes(word))
  })
  const first = cursor == null ? 0 : Number(readCursor(linkKey, scope, cursor)[0])
  const end = first + (pageSize ?? PAGE_SIZE)
  return {
    deviceList: found
      .slice(first, end)
      .map(({ brand, model, since = null, note = null }) => ({ brand, model, since, note })),
    nextCursor: end < found.length ? createCursor(linkKey, scope, [end]) : null,
    asOf,
  }
}

/** `since 2018`; empty if it is not known. */
export function sinceText({ since }: Device): string {
  return since === undefined ? '' : `since ${since}`
}
