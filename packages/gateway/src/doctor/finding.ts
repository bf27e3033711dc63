/** What one look found. Words are sentences, and those of a fault or a warning end with what to do. */
export interface Finding {
  check: string
  /** FAULT: does not work, or will lose something. WARNING: works, and somebody should know. */
  state: 'OK' | 'WARNING' | 'FAULT'
  words: string
}

/** The findings of one check, in its name. */
export function findings(check: string) {
  const say = (state: Finding['state']) => (words: string) => ({ check, state, words })
  return { ok: say('OK'), warning: say('WARNING'), fault: say('FAULT') }
}

export type Findings = ReturnType<typeof findings>
