import { useState } from 'react'
import { call, consoleBase } from '#api/call-api.ts'
import { notifyError } from '#parts/notify.ts'

/** Shows an operator the console as this dealer's administrator sees it. */
export function useViewAsDealer(tenantId: string) {
  const [isStarting, setStarting] = useState(false)
  async function start() {
    setStarting(true)
    try {
      await call('POST', `/tenants/${tenantId}/view`)
      // Reloading the page clears the data of the operator's pages from memory.
      location.replace(consoleBase)
    } catch (error) {
      setStarting(false)
      notifyError(error as Error)
    }
  }
  return { isStarting, start: () => void start() }
}
