import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { navigationFor } from './navigation.ts'

/** Pages that `g` and a letter open, for people who have those pages. */
const JUMPS: Record<string, string> = {
  h: '/',
  b: '/buy',
  o: '/orders',
  e: '/profiles',
  d: '/tenants',
  c: '/catalogue',
  s: '/suppliers',
  w: '/webhooks',
  n: '/notices',
  a: '/audit',
}

/** The pages that a person can jump to, for the keys and for the help about them. */
export function jumpsOf(me: Me): { key: string; to: string; label: string }[] {
  const pages = navigationFor(me)
  return Object.entries(JUMPS).flatMap(([key, to]) => {
    const page = pages.find((one) => one.to === to)
    return page ? [{ key, to, label: page.label }] : []
  })
}

/** A second key must follow `g` within this time. */
const SEQUENCE_MS = 1_500

/** Handles single keys outside fields and dialogs: the search, jumps to pages, and j and k between the rows of a list. */
export function useKeys(me: Me, { find, showHelp }: { find(): void; showHelp(): void }): void {
  const navigate = useNavigate()
  useEffect(() => {
    let jumpUntilMs = 0
    function onKey(event: KeyboardEvent) {
      const { key, target, timeStamp } = event
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target)) return
      if (timeStamp < jumpUntilMs) {
        jumpUntilMs = 0
        const jump = jumpsOf(me).find((one) => one.key === key)
        if (!jump) return
        // The page may focus a field, which must not get the letter.
        event.preventDefault()
        void navigate({ to: jump.to })
      } else if (key === 'g') jumpUntilMs = timeStamp + SEQUENCE_MS
      else if (key === '?') showHelp()
      else if (key === '/') {
        // Otherwise the slash would be typed into the field that opens.
        event.preventDefault()
        find()
      } else if (key === 'j' || key === 'k') moveInList(key === 'j' ? 1 : -1)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [me, navigate, find, showHelp])
}

function isTyping(target: EventTarget | null): boolean {
  if (isDialogOpen()) return true
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable], [role=menu]') !== null
}

/** Also true for the sign-in over a page whose session has ended, which is a <dialog> without the role. */
export function isDialogOpen(): boolean {
  return document.querySelector('[role=dialog], dialog[open]') !== null
}

/** Focuses the link of the next or previous row. Enter then opens it. */
function moveInList(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('.list [data-row] td:not(.list-select) :is(a, button)')]
  const rows = [...new Set(links.map((link) => link.closest('[data-row]')))]
  const current = rows.indexOf(document.activeElement?.closest('[data-row]') ?? null)
  const next = rows[current === -1 && step === -1 ? rows.length - 1 : current + step]
  links.find((link) => link.closest('[data-row]') === next)?.focus()
}
