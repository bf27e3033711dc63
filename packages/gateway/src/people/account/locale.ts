import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

/** How a person reads the console and mails. null: as the browser says. */
export interface PersonLocale {
  /** A BCP 47 tag: `zh-Hans`. */
  language: string | null
  /** An IANA name: `Asia/Shanghai`. */
  timeZone: string | null
}

/**
 * Saves how a person reads. Not audited: it changes nothing but words and clocks.
 * @throws Refusal TIME_ZONE_UNKNOWN
 */
export async function saveLocale(
  db: Pick<Db, 'query'>,
  personId: string,
  { language, timeZone }: PersonLocale,
): Promise<void> {
  if (timeZone !== null) checkTimeZone(timeZone)
  await db.query(sql`
    update people set language = ${language}, time_zone = ${timeZone}, updated_at = now() where person_id = ${personId}`)
}

/** @throws Refusal TIME_ZONE_UNKNOWN */
export function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw new Refusal(422, 'TIME_ZONE_UNKNOWN', 'There is no such time zone. Use a name such as Europe/Vienna, or UTC.')
  }
}
