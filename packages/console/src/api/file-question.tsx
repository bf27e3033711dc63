import type { ImportReport } from '@dealer-esim/gateway/catalogue/files/import-packages.ts'
import { Alert, Button, Code, NativeSelect, SimpleGrid, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { formatMessage, t } from '#strings/strings.ts'

export type Question = NonNullable<ImportReport['question']>
type EncodingQuestion = Extract<Question, { kind: 'ENCODING' }>
type ColumnsQuestion = Extract<Question, { kind: 'COLUMNS' }>

/** A person's statements about a file, for the query of its upload. */
export interface FileAnswers {
  encoding?: string
  /** JSON: headers of the file and our columns. */
  map?: string
}

interface FileQuestionProps<Kind> {
  question: Kind
  onAnswer(answers: FileAnswers): void
}

/** Asks what only a person can know about a file: its encoding, or the meaning of its columns. */
export function FileQuestion({ question, onAnswer }: FileQuestionProps<Question>) {
  return (
    <Alert color="orange" role="group" aria-label={t.files.question}>
      {question.kind === 'ENCODING' ? (
        <EncodingChoice question={question} onAnswer={onAnswer} />
      ) : (
        <ColumnChoice question={question} onAnswer={onAnswer} />
      )}
    </Alert>
  )
}

function EncodingChoice({ question: { choices }, onAnswer }: FileQuestionProps<EncodingQuestion>) {
  const [encoding, setEncoding] = useState(choices[0]?.encoding ?? '')
  const rows = choices.find((choice) => choice.encoding === encoding)?.rows ?? []
  return (
    <Stack gap="sm">
      <Text size="sm">{t.files.encodingText}</Text>
      <NativeSelect
        label={t.files.encoding}
        data={choices.map((choice) => choice.encoding)}
        value={encoding}
        onChange={(event) => setEncoding(event.currentTarget.value)}
      />
      <Code block aria-label={t.files.rows}>
        {rows.join('\n')}
      </Code>
      <Button type="button" onClick={() => onAnswer({ encoding })}>
        {formatMessage(t.files.useEncoding, { encoding })}
      </Button>
    </Stack>
  )
}

function ColumnChoice({ question: { headers, columns }, onAnswer }: FileQuestionProps<ColumnsQuestion>) {
  const [chosen, setChosen] = useState(() => headers.map(({ column }) => column ?? ''))
  const pairs = headers.flatMap(({ header }, i) => (chosen[i] ? [[header, chosen[i]]] : []))
  return (
    <Stack gap="sm">
      <Text size="sm">{t.files.columnsText}</Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {headers.map(({ header, example }, i) => (
          <NativeSelect
            key={header}
            label={header}
            description={example && formatMessage(t.files.example, { example })}
            data={[
              { value: '', label: t.files.notImported },
              ...[...new Set([...columns, ...(chosen[i] ? [chosen[i]] : [])])],
            ]}
            value={chosen[i] ?? ''}
            onChange={(event) => {
              const { value } = event.currentTarget
              setChosen((before) => before.map((column, other) => (other === i ? value : column)))
            }}
          />
        ))}
      </SimpleGrid>
      <Button
        type="button"
        disabled={pairs.length === 0}
        onClick={() => onAnswer({ map: JSON.stringify(Object.fromEntries(pairs)) })}
      >
        {t.files.useColumns}
      </Button>
    </Stack>
  )
}
