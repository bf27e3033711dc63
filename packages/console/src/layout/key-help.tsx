import { Group, Kbd, Modal, Table, Text } from '@mantine/core'
import { useReturnFocus } from '#parts/dialog.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { jumpsOf } from './keys.ts'

/** The list of the console's keys, opened by `?`. */
export default function KeyHelp({ onClose }: { onClose(): void }) {
  useReturnFocus(true)
  const me = useSession()
  const keys: [keys: string[], meaning: string][] = [
    [['/'], t.keys.search],
    [['?'], t.keys.help],
    [['j'], t.keys.nextRow],
    [['k'], t.keys.previousRow],
    [[t.finder.enter], t.keys.open],
    ...jumpsOf(me).map(({ key, label }): [string[], string] => [
      ['g', key],
      formatMessage(t.keys.goTo, { page: label }),
    ]),
  ]
  return (
    <Modal opened onClose={onClose} title={t.keys.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Table aria-label={t.keys.title}>
        <Table.Tbody>
          {keys.map(([pressed, meaning]) => (
            <Table.Tr key={meaning}>
              <Table.Td w={110}>
                <Group gap={4}>
                  {pressed.map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </Group>
              </Table.Td>
              <Table.Td>
                <Text size="sm">{meaning}</Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  )
}
