// Before the first paint: a page that will be dark is never white. A file, because inline scripts are not allowed.
const stored = localStorage.getItem('color-scheme')
const dark = stored === 'dark' || (stored !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light')
