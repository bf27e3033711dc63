/** Longer than somebody reads without a movement; far shorter than the idle time that ends a session. */
const LEFT_AFTER_MS = 5 * 60_000
const SIGNS_OF_SOMEBODY = ['pointerdown', 'pointermove', 'keydown', 'wheel'] as const

let seenAt_ms = Date.now()

/** Begins to notice whether somebody is there. */
export function watchAttendance(): void {
  const seen = () => {
    seenAt_ms = Date.now()
  }
  for (const sign of SIGNS_OF_SOMEBODY) addEventListener(sign, seen, { capture: true, passive: true })
}

/** Whether nobody has touched the page for a while: what it then asks by itself is no use of the session. */
export function isUnattended(): boolean {
  return Date.now() - seenAt_ms >= LEFT_AFTER_MS
}
