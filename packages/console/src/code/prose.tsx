import { Code } from '@mantine/core'

/** A text from the API's description: names between backticks are shown as code. */
export function Prose({ text }: { text: string }) {
  return text.split('`').map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a fixed text
      <Code key={index}>{part}</Code>
    ) : (
      part
    ),
  )
}
