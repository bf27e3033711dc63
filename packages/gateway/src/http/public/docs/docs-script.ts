/**
 * What the pages' script adds: copy buttons, tabs of samples with a remembered choice, a fade where a box scrolls on, and results
 * while the reader types.
 * Results come from the page of the search, so that there is one search and no index in the browser.
 */
export const DOCS_SCRIPT = `'use strict'
const { copy, copied } = document.body.dataset

for (const pre of document.querySelectorAll('main pre')) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: copy })
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(pre.textContent)
    button.textContent = copied
    setTimeout(() => { button.textContent = copy }, 2000)
  })
  const frame = Object.assign(document.createElement('div'), { className: 'code' })
  pre.replaceWith(frame)
  frame.append(pre, button)
  if (navigator.clipboard === undefined) button.remove() // plain HTTP
}

const CHOICE = 'docs-sample-language'
const remembered = () => { try { return localStorage.getItem(CHOICE) } catch { return null } }
const remember = (language) => { try { localStorage.setItem(CHOICE, language) } catch {} }

function showSamples(language) {
  for (const tabs of document.querySelectorAll('.tabs')) {
    const figures = [...tabs.querySelectorAll('figure')]
    const shown = figures.find((each) => each.dataset.language === language) ?? figures[0]
    for (const figure of figures) {
      figure.hidden = figure !== shown
      const tab = tabs.querySelector('[data-tab="' + figure.dataset.language + '"]')
      tab.setAttribute('aria-selected', String(figure === shown))
      tab.tabIndex = figure === shown ? 0 : -1
    }
  }
}

for (const tabs of document.querySelectorAll('.tabs')) {
  const list = Object.assign(document.createElement('div'), { className: 'list' })
  list.setAttribute('role', 'tablist')
  for (const figure of tabs.querySelectorAll('figure')) {
    const { language } = figure.dataset
    const tab = Object.assign(document.createElement('button'), { type: 'button', textContent: language })
    tab.dataset.tab = language
    tab.setAttribute('role', 'tab')
    tab.addEventListener('click', () => { remember(language); showSamples(language) })
    list.append(tab)
    figure.setAttribute('role', 'tabpanel')
    figure.setAttribute('aria-label', language)
    figure.querySelector('figcaption').remove()
  }
  list.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    const all = [...list.children]
    const next = step && all[all.indexOf(document.activeElement) + step]
    if (next) { next.click(); next.focus() }
  })
  tabs.prepend(list)
}
showSamples(remembered())

const scrollers = document.querySelectorAll('main pre, .wide, main p:has(> img), nav, aside')
function fade(box) {
  box.classList.toggle('more-right', box.scrollLeft + box.clientWidth < box.scrollWidth - 1)
  box.classList.toggle('more-below', box.scrollTop + box.clientHeight < box.scrollHeight - 1)
}
const sizes = new ResizeObserver((entries) => { for (const { target } of entries) fade(target) })
for (const box of scrollers) {
  sizes.observe(box)
  box.addEventListener('scroll', () => fade(box), { passive: true })
}
addEventListener('load', () => scrollers.forEach(fade)) // pictures have their size now

const form = document.querySelector('form[role=search]')
const input = form.querySelector('input')
const hits = Object.assign(document.createElement('div'), { className: 'hits', hidden: true })
form.append(hits)
let asked = 0

async function search() {
  const query = input.value.trim()
  const turn = ++asked
  if (query === '') { hits.hidden = true; return }
  const answer = await fetch(form.action + '?' + new URLSearchParams({ q: query }))
  if (!answer.ok || turn !== asked) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const list = page.querySelector('main .results, main .none')
  if (turn !== asked || list === null) return
  for (const link of list.querySelectorAll('a')) link.href = new URL(link.getAttribute('href'), answer.url)
  hits.replaceChildren(list)
  hits.hidden = false
}

let typing
input.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(search, 150) })
form.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { hits.hidden = true; input.focus(); return }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined || hits.hidden) return
  const stops = [input, ...hits.querySelectorAll('a')]
  stops[stops.indexOf(document.activeElement) + step]?.focus()
  event.preventDefault()
})
document.addEventListener('click', (event) => { if (!form.contains(event.target)) hits.hidden = true })
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select, [contenteditable]') !== null
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  input.focus()
  input.select()
  event.preventDefault()
})
`
