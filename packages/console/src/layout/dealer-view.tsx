import { Button, Group, Text } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import { useState } from 'react'
import { call, consoleBase } from '#api/call-api.ts'
import { notifyError } from '#parts/notify.ts'
import { useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** Marks every page while an operator views the console as a dealer, and ends the view. */
export default function DealerViewBar() {
  const { tenant } = useSession()
  const [isEnding, setEnding] = useState(false)
  async function end() {
    setEnding(true)
    try {
      await call('DELETE', '/session/view')
      // Reloading the page clears the data of the dealer's pages from memory.
      location.replace(new URL(`tenants/${tenant?.tenantId}`, consoleBase))
    } catch (error) {
      setEnding(false)
      notifyError(error as Error)
    }
  }
  return (
    <Group className="dealer-view" role="status" justify="space-between" wrap="nowrap" gap="sm" px="md" py={6} mb="md">
      <Group gap="xs" wrap="nowrap">
        <IconEye size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
        <Text size="sm" fw={600}>
          {formatMessage(t.dealerView.bar, { dealer: tenant?.clientName ?? '' })}
        </Text>
      </Group>
      <Button size="xs" variant="default" loading={isEnding} onClick={() => void end()} miw="max-content">
        {t.dealerView.end}
      </Button>
    </Group>
  )
}
