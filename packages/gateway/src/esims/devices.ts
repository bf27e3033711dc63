import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'

/** A device that is known to take an eSIM. */
export interface Device {
  brand: string
  model: string
  /** The year in which it came out. */
  since?: number
  /** Such as where it is sold without eSIM. */
  note?: string
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

/** `since 2018`; empty if it is not known. */
export function sinceText({ since }: Device): string {
  return since === undefined ? '' : `since ${since}`
}
