/** Adds a button beside each code, and prints a card. Without the script one tap selects a whole code. */
export const PAGE_SCRIPT = `
if (navigator.clipboard) for (const code of document.querySelectorAll('.code code')) {
  const button = document.createElement('button')
  const { copy, copied } = document.body.dataset
  button.type = 'button'
  button.className = 'copy'
  button.textContent = copy
  button.setAttribute('aria-label', copy + ': ' + code.parentNode.firstChild.textContent)
  button.onclick = async () => {
    await navigator.clipboard.writeText(code.textContent)
    button.textContent = copied
    setTimeout(() => { button.textContent = copy }, 2000)
  }
  code.after(button)
}
if ('print' in document.body.dataset) window.print()
`
