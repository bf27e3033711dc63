import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import type { TravellerList } from '@dealer-esim/gateway/http/console/esims/traveller-lists.ts'
import { FileInput, Table, Text, Textarea } from '@mantine/core'
import { useEffect, useState } from 'react'
import { type FileAnswers, FileQuestion } from '#api/file-question.tsx'
import { upload } from '#api/upload.ts'
import { BrandSelect } from '#brands/brand-select.tsx'
import { PackageName } from '#catalogue/package-name.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { ErrorText } from '#parts/load-states.tsx'
import { Hint } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { chooseTargets, type Pair, pairsOf, progressText, type Result } from './send-pairs.ts'
import { SendResult, useSends } from './use-sends.tsx'

interface SendManyProps {
  esims: readonly ProfileRow[]
  onClose(): void
}

/** Sends eSIMs to travellers from a pasted list or a file: the first line gets the first eSIM. */
export default function SendMany({ esims, onClose }: SendManyProps) {
  // As they were chosen: a send changes the list behind the dialog.
  const [{ targets, skipped }] = useState(() => chooseTargets(esims))
  const { list, failure, isReading, take, answer } = useTravellerList()
  const [brand, setBrand] = useState('')
  const { results, given, isSending, send } = useSends(brand)
  const [tenantId, ...otherTenants] = new Set(targets.map((esim) => esim.tenantId))
  const { pairs, left, taken } = pairsOf(targets, list?.lines ?? [], given)
  const open = pairs.filter((pair) => pair.fault === null && results[pair.key]?.isOver !== true)
  const isRepeat = open.length > 0 && open.every(({ key }) => results[key] !== undefined)
  const isRead = !isReading && failure === undefined
  const isDone = open.length === 0 && isRead && !isSending && Object.keys(results).length > 0
  function submitText(): string {
    if (isDone) return t.common.close
    if (open.length === 0) return t.esims.send
    return formatMessage(isRepeat ? t.esims.many.again : t.esims.many.send, { count: open.length })
  }
  async function submit() {
    if (isReading) return
    if (isDone) return onClose()
    await send(open)
  }
  return (
    <Dialog
      title={t.esims.many.title}
      opened
      size="xl"
      onClose={onClose}
      closing={Object.keys(results).length > 0 ? t.common.close : undefined}
      hasCancel={!isDone}
      submit={submitText()}
      isDisabled={isReading || (open.length === 0 && !isDone)}
      busy={isSending}
      onSubmit={() => void submit()}
    >
      <Text size="sm">{formatMessage(t.esims.many.chosen, { count: targets.length })}</Text>
      {skipped > 0 && <Hint>{formatMessage(t.esims.many.skipped, { count: skipped })}</Hint>}
      <Textarea
        label={t.esims.many.lines}
        description={t.esims.many.linesHint}
        placeholder={t.esims.many.example}
        autosize
        minRows={3}
        maxRows={4}
        data-autofocus
        disabled={isSending}
        onChange={({ currentTarget: { value } }) => take(value.trim() === '' ? undefined : new Blob([value]))}
      />
      <FileInput
        label={t.esims.many.file}
        description={t.esims.many.fileHint}
        placeholder={t.esims.many.chooseFile}
        accept=".csv,.tsv,.txt,.xlsx,text/csv"
        clearable
        disabled={isSending}
        onChange={take}
      />
      {tenantId !== undefined && otherTenants.length === 0 && (
        <BrandSelect tenantId={tenantId} isDisabled={isSending} onChange={setBrand} />
      )}
      {failure && <ErrorText>{failure}</ErrorText>}
      {list?.refusal && <ErrorText>{list.refusal}</ErrorText>}
      {list?.question && <FileQuestion question={list.question} onAnswer={answer} />}
      {pairs.length > 0 && <Preview pairs={pairs} results={results} />}
      {taken > 0 && <Hint>{formatMessage(t.esims.many.taken, { count: taken })}</Hint>}
      {left > 0 && pairs.length > 0 && <Hint>{formatMessage(t.esims.many.left, { count: left })}</Hint>}
      <div role="status" className="sr">
        {progressText({ pairs, results, taken, isReading, isSending, isDone })}
      </div>
    </Dialog>
  )
}

/** How long after the last change of the text the list is read. */
const PAUSE_MS = 250

interface ListSource {
  file: Blob
  answers: FileAnswers
}

/**
 * Reads the list on the gateway, which has the one reader of tables. It stores nothing. Until a changed list is read, the one
 * before it is shown, but it is not what the person wants to send.
 */
function useTravellerList() {
  const [source, setSource] = useState<ListSource>()
  const [read, setRead] = useState<{ of: ListSource; list?: TravellerList; failure?: string }>()
  useEffect(() => {
    if (source === undefined) return
    let isWanted = true
    async function load(of: ListSource) {
      const result = await upload('/traveller-lists', { ...of.answers }, of.file)
        .then((text) => ({ list: JSON.parse(text) as TravellerList }))
        .catch((error: Error) => ({ failure: error.message }))
      if (isWanted) setRead({ of, ...result })
    }
    const timer = setTimeout(() => void load(source), PAUSE_MS)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [source])
  return {
    ...(source !== undefined && { list: read?.list, failure: read?.failure }),
    isReading: source !== undefined && read?.of !== source,
    take: (file: Blob | undefined | null) => setSource(file ? { file, answers: {} } : undefined),
    answer: (answers: FileAnswers) => setSource((before) => before && { ...before, answers }),
  }
}

/** Which traveller gets which eSIM, and what has become of it. */
function Preview({ pairs, results }: { pairs: readonly Pair[]; results: Record<string, Result> }) {
  return (
    <Table.ScrollContainer
      minWidth={0}
      mah="max(14rem, 100dvh - 32rem)"
      type="native"
      // For the arrow keys: its rows have nothing to focus.
      tabIndex={0}
      role="region"
      aria-label={t.esims.many.preview}
    >
      <Table aria-label={t.esims.many.preview} className="send-pairs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.esims.many.line}</Table.Th>
            <Table.Th>{t.esims.traveller}</Table.Th>
            <Table.Th>{t.esims.many.esim}</Table.Th>
            <Table.Th>{t.esims.many.result}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {pairs.map(({ key, row, name, email, esim, fault }) => (
            <Table.Tr key={key} data-pair={row}>
              <Table.Td>{row}</Table.Td>
              <Table.Td className="break" data-from-gateway>
                {name && <div>{name}</div>}
                {email}
              </Table.Td>
              <Table.Td>
                {esim && (
                  <>
                    <PackageName name={esim.packageName} location={esim.location} />
                    <Hint size="xs">{formatMessage(t.esims.many.iccidEnd, { end: esim.iccid.slice(-4) })}</Hint>
                  </>
                )}
              </Table.Td>
              <Table.Td>
                <SendResult fault={fault} result={results[key]} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
