import { Button, FileButton, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { t } from '#strings/page-texts.ts'
import type { Slot } from './brand-draft.ts'

export interface ChosenPicture {
  base64: string
  dataUrl: string
}

const SIZE_MAX_BYTES = 512 * 1024
const TYPES = 'image/svg+xml,image/png,image/webp,image/jpeg'

/** A picture of the brand on the ground that it is for, with a button that chooses a file. */
export function PictureField(props: {
  slot: Slot
  shown: string | undefined
  error: string | undefined
  mayEdit: boolean
  /** null: remove it. */
  onChoose(file: ChosenPicture | null): void
}) {
  const [fault, setFault] = useState<string>()
  const label = t.brands.slots[props.slot]
  async function choose(file: File | null) {
    if (!file) return
    if (file.size > SIZE_MAX_BYTES) return setFault(t.brands.tooLarge)
    setFault(undefined)
    const dataUrl = await dataUrlOf(file)
    props.onChoose({ dataUrl, base64: dataUrl.slice(dataUrl.indexOf(',') + 1) })
  }
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Group
        justify="center"
        h={64}
        style={{
          borderWidth: 1,
          borderStyle: props.shown ? 'solid' : 'dashed',
          borderColor: 'var(--line-field)',
          borderRadius: 'var(--radius-8)',
          background: props.slot === 'logoDark' ? '#1b1f22' : '#fff',
        }}
      >
        {props.shown && <img src={props.shown} alt={label} style={{ maxHeight: 40, maxWidth: '90%' }} />}
      </Group>
      {props.mayEdit && (
        <Group gap={4}>
          <FileButton onChange={(file) => void choose(file)} accept={TYPES}>
            {(button) => (
              <Button
                {...button}
                variant="default"
                size="compact-xs"
                aria-label={`${props.shown ? t.brands.replace : t.brands.choose}: ${label}`}
              >
                {props.shown ? t.brands.replace : t.brands.choose}
              </Button>
            )}
          </FileButton>
          {props.shown && (
            <Button
              variant="subtle"
              size="compact-xs"
              aria-label={`${t.brands.remove}: ${label}`}
              onClick={() => props.onChoose(null)}
            >
              {t.brands.remove}
            </Button>
          )}
        </Group>
      )}
      {(fault ?? props.error) && (
        <Text size="xs" c="var(--bad)" role="alert">
          {fault ?? props.error}
        </Text>
      )}
    </Stack>
  )
}

/** The content security policy allows pictures of this form, and no others that the page makes. */
function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error('the file cannot be read'))
    reader.readAsDataURL(file)
  })
}
