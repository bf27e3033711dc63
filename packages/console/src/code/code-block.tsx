import { Group, Stack, Text } from '@mantine/core'
import { CopyIcon } from '#parts/values.tsx'
import { type CodeLanguage, highlight } from './highlight.ts'

/** Code with its name, colours and a copy button. */
export function CodeBlock({ label, text, language }: { label: string; text: string; language: CodeLanguage }) {
  return (
    <Stack gap={4}>
      <Group gap={4}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <CopyIcon value={text} label={label} />
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by the keyboard */}
      <pre className="code" tabIndex={0}>
        {highlight(text, language).map(({ kind, text }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of a text have no other identity
          <span key={index} {...(kind && { className: `code-${kind}` })}>
            {text}
          </span>
        ))}
      </pre>
    </Stack>
  )
}
