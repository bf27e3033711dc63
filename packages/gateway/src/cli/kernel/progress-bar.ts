import type { AdminContext } from './context.ts'

export interface ProgressBar {
  /** @param share from 0 to 1 */
  show(share: number, message: string): void
  end(): void
}

const WIDTH = 30
const REDRAW_MS = 100

/** Draws a bar on a terminal; otherwise prints a line at every tenth. Prints nothing with --json. */
export function progressBar(context: Pick<AdminContext, 'json' | 'progress'>): ProgressBar {
  if (context.json) return { show() {}, end() {} }
  return process.stderr.isTTY ? drawnBar() : writtenLines(context)
}

function drawnBar(): ProgressBar {
  let drawnAt = Number.NEGATIVE_INFINITY
  let length = 0
  return {
    show(share, message) {
      const now = performance.now()
      if (now - drawnAt < REDRAW_MS && share < 1) return
      drawnAt = now
      const filled = Math.round(Math.min(1, share) * WIDTH)
      const line = `[${'='.repeat(filled)}${' '.repeat(WIDTH - filled)}] ${message}`
      process.stderr.write(`\r${line.padEnd(length)}`)
      length = line.length
    },
    end() {
      if (length > 0) process.stderr.write(`\r${' '.repeat(length)}\r`)
      length = 0
    },
  }
}

function writtenLines(context: Pick<AdminContext, 'progress'>): ProgressBar {
  let tenths = 0
  return {
    show(share, message) {
      const reached = Math.floor(Math.min(1, share) * 10)
      if (reached <= tenths) return
      tenths = reached
      context.progress(`${reached * 10} %: ${message}`)
    },
    end() {},
  }
}
