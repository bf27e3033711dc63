import type { Page } from 'playwright-core'

/*
 * Scripts that run in a page before its own, which know when it is quiet: nothing is on its way and nothing is left to do. How long that
 * takes does not matter.
 */

export interface WithAnswers {
  /** What the gateway has answered, as JSON. */
  answers: string[]
}

export async function addLoading(page: Page): Promise<void> {
  for (const script of [watchRequests, addQuiet]) await page.addInitScript(script)
}

/** A global of the page. */
declare function isAwaited(): boolean

/**
 * Keeps every answer of the console’s API. An answer is awaited until it has arrived whole, a script until it has come or failed, another page
 * until it is there.
 */
function watchRequests(): void {
  const answers: string[] = []
  let requests = 0
  const scripts = new Set<EventTarget>()
  const request = window.fetch
  async function keep(response: Response): Promise<void> {
    const text = await response.text()
    if (response.url.includes('/console/api/')) answers.push(text)
  }
  async function watchedFetch(...options: Parameters<typeof fetch>): Promise<Response> {
    requests++
    const done = () => {
      requests--
    }
    const answer = request(...options)
    void answer.then((response) => keep(response.clone())).then(done, done)
    return answer
  }
  new MutationObserver((changes) => {
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes]))
      if (node instanceof HTMLLinkElement && node.rel === 'modulepreload') scripts.add(node)
  }).observe(document, { subtree: true, childList: true })
  for (const end of ['load', 'error'])
    document.addEventListener(end, ({ target }) => target && scripts.delete(target), { capture: true })
  let isLeaving = false
  navigation.addEventListener('navigate', ({ destination, downloadRequest }) => {
    if (!destination.sameDocument && downloadRequest === null) isLeaving = true
  })
  navigation.addEventListener('navigateerror', () => {
    isLeaving = false
  })
  const send = XMLHttpRequest.prototype.send
  XMLHttpRequest.prototype.send = function (...body) {
    requests++
    this.addEventListener('loadend', () => {
      answers.push(...this.responseText.split('\n'))
      requests--
    })
    return send.apply(this, body)
  }
  const isAwaited = () => isLeaving || requests > 0 || scripts.size > 0
  Object.assign(globalThis, { answers, isAwaited, fetch: watchedFetch })
}

/** Waits until nothing is awaited and nothing has changed in a few rounds, each of which ends when the page has nothing else to do. */
function addQuiet(): void {
  const BUSY = 'main[aria-busy=true], button[data-loading]:not([data-sample] *)'
  const ROUNDS = 3
  /** Only for what never ends. */
  const WAIT_MAX_MS = 60_000
  const isBusy = () => document.readyState !== 'complete' || isAwaited() || document.querySelector(BUSY) !== null
  async function quiet(): Promise<void> {
    let rounds = 0
    const changes = new MutationObserver(() => {
      rounds = 0
    })
    changes.observe(document, { subtree: true, childList: true })
    const end = performance.now() + WAIT_MAX_MS
    while (rounds < ROUNDS && performance.now() < end) {
      await new Promise((resolve) =>
        requestAnimationFrame(() => setTimeout(() => requestIdleCallback(resolve, { timeout: 50 }))),
      )
      rounds = isBusy() ? 0 : rounds + 1
    }
    changes.disconnect()
  }
  Object.assign(globalThis, { quiet })
}
