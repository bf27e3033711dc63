import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'

const TYPING_MS = 250

/** A text filter that waits until typing pauses. */
export function SearchField(props: { value: string; onChange(value: string): void; label: string; w?: number }) {
  const [text, setText] = useState(props.value)
  const told = useRef(props.value)
  const tell = useDebouncedCallback((value: string) => {
    told.current = value
    props.onChange(value)
  }, TYPING_MS)
  // Only what comes from elsewhere, such as Back: what was told itself lacks the space that was just typed.
  useEffect(() => {
    if (props.value === told.current) return
    told.current = props.value
    setText(props.value)
  }, [props.value])
  return (
    <TextInput
      type="search"
      aria-label={props.label}
      placeholder={props.label}
      leftSection={<IconSearch size={16} />}
      w={{ base: '100%', sm: props.w ?? 340 }}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        tell(event.currentTarget.value.trim())
      }}
    />
  )
}
