const NAME = 'was-signed-in'

/** Whether somebody was signed in here when the page was last open. Only a hint of what to load: the gateway decides. */
export function wasSignedIn(): boolean {
  return localStorage.getItem(NAME) !== null
}

export function rememberSignedIn(isSignedIn: boolean): void {
  if (isSignedIn) localStorage.setItem(NAME, 'yes')
  else localStorage.removeItem(NAME)
}
