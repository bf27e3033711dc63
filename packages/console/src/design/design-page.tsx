import { Alert, Button, Checkbox, Group, NativeSelect, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { PackageName } from '#catalogue/package-name.tsx'
import { actionsColumn, moneyColumn, RowButton, valueColumn } from '#parts/list-columns.tsx'
import { EmptyState, ErrorText } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount, Facts, Hint, StatusMark, type StatusTone, TechnicalDetails, TextLink } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { DealerName } from '#tenants/dealer-name.tsx'
import { MoreMenu, Record, StateSentence } from './record.tsx'

const texts = t.design
const TONES: StatusTone[] = ['ok', 'busy', 'off', 'warn', 'bad']
const COLOURS = [
  ...[
    '--canvas',
    '--surface',
    '--raised',
    '--sunken',
    '--hover',
    '--chosen',
    '--line',
    '--line-button',
    '--line-field',
  ],
  ...['--ink', '--ink-2', '--ink-3', '--accent', '--accent-hover', '--on-accent', '--accent-text', '--accent-soft'],
  ...['--ok', '--ok-soft', '--busy-soft', '--warn', '--warn-soft', '--bad', '--bad-soft'],
  ...['--chart', '--chart-2', '--chart-ok', '--chart-warn', '--chart-bad', '--chart-quiet'],
]
const SIZES = ['--type-12', '--type-14', '--type-16', '--type-20', '--type-28']

/**
 * Every part of the console in every state, for people who build pages. A new page uses these parts, or adds new ones here.
 */
export function DesignPage() {
  return (
    <Page
      title={texts.title}
      description={texts.text}
      mark={<StatusMark tone="busy">{texts.tones.busy}</StatusMark>}
      actions={
        <MoreMenu
          actions={[
            { label: texts.rare, onClick: () => {} },
            { label: texts.dangerous, isDangerous: true, onClick: () => {} },
          ]}
        />
      }
    >
      {TONES.map((tone) => (
        <StateSentence
          key={tone}
          tone={tone}
          title={texts.sentences[tone]}
          text={texts.sentence}
          actions={<Button>{texts.action}</Button>}
        />
      ))}
      <Record rail={<Rail />}>
        <Tokens />
        <Buttons />
        <Fields />
        <Lists />
      </Record>
    </Page>
  )
}

function Rail() {
  return (
    <>
      <Card title={t.common.status}>
        <Stack gap="xs" align="flex-start">
          {TONES.map((tone) => (
            <StatusMark key={tone} tone={tone}>
              {texts.tones[tone]}
            </StatusMark>
          ))}
        </Stack>
      </Card>
      <Card title={texts.names}>
        <PackageName name="Japan 5 GB 3 days" location="JP" />
        <PackageName name="Europe 10 GB 30 days" location="!RG" more={2} />
        <DealerName name="Lotus Travel" />
        <TextLink to="/design">{texts.link}</TextLink>
      </Card>
      <Card title={texts.facts}>
        <Facts
          cols={1}
          items={[
            [texts.money, <Amount key="m" value={29_900} currency="USD" />],
            [texts.negative, <Amount key="n" value={-29_900} currency="USD" signed />],
            [texts.unknown, null],
          ]}
        />
        <TechnicalDetails items={[[texts.number, '01J9ZC3W5N8Q2R4T6V8X0Y1Z2A']]} />
      </Card>
    </>
  )
}

function Tokens() {
  return (
    <Card title={texts.tokens}>
      <Group gap="xs" className="swatches">
        {COLOURS.map((name) => (
          <span key={name} className="swatch">
            <span style={{ background: `var(${name})` }} />
            <code>{name}</code>
          </span>
        ))}
      </Group>
      {SIZES.map((name) => (
        <Text key={name} style={{ fontSize: `var(${name})` }}>
          {`${texts.sample} ${name.slice('--type-'.length)}`}
        </Text>
      ))}
    </Card>
  )
}

function Buttons() {
  return (
    <Card title={texts.buttons} actions={<Button variant="default">{texts.secondary}</Button>}>
      <Group gap="xs" data-sample>
        <Button>{texts.primary}</Button>
        <Button loading>{texts.primary}</Button>
        <Button disabled>{texts.primary}</Button>
        <Button variant="default">{texts.secondary}</Button>
        <Button variant="light">{texts.light}</Button>
        <Button color="red">{texts.dangerous}</Button>
      </Group>
    </Card>
  )
}

function Fields() {
  return (
    <Card title={texts.fields}>
      <TextInput label={texts.field} description={texts.hint} required />
      <TextInput label={texts.refused} defaultValue="-1" error={texts.error} />
      <TextInput label={texts.disabled} disabled />
      <NativeSelect label={texts.choice} data={[texts.field, texts.refused]} />
      <Textarea label={texts.longText} autosize minRows={2} />
      <Group>
        <Checkbox label={texts.chosen} defaultChecked />
        <Switch label={texts.chosen} defaultChecked />
      </Group>
      <Hint>{texts.hint}</Hint>
      <ErrorText>{texts.error}</ErrorText>
      <Alert color="orange">{texts.warning}</Alert>
      <Alert color="teal">{texts.success}</Alert>
    </Card>
  )
}

const ROWS = TONES.map((tone, index) => ({ tone, amount: 29_900 * (index + 1), currencyCode: 'USD' }))
type Line = (typeof ROWS)[number]

function Lists() {
  return (
    <>
      <Card title={texts.rows}>
        <Sample rows={ROWS} />
      </Card>
      <Card title={texts.noRows}>
        <Sample rows={[]} />
      </Card>
      <Card title={texts.failed}>
        <div data-sample>
          <Sample rows={undefined} error={new Error(texts.error)} />
        </div>
      </Card>
      <Card title={texts.empty}>
        <EmptyState title={texts.noRows} text={texts.sentence} action={<Button>{texts.action}</Button>} />
      </Card>
    </>
  )
}

function Sample({ rows, error = null }: { rows: Line[] | undefined; error?: Error | null }): ReactNode {
  return (
    <List<Line>
      label={texts.rows}
      rows={rows}
      query={{ error }}
      idOf={({ tone }) => tone}
      empty={{ title: texts.noRows, text: texts.sentence }}
      columns={[
        valueColumn('name', texts.names, () => <PackageName name="Japan 5 GB 3 days" location="JP" />, {
          phone: 'main',
        }),
        valueColumn('status', t.common.status, ({ tone }) => <StatusMark tone={tone}>{texts.tones[tone]}</StatusMark>, {
          phone: 'status',
        }),
        moneyColumn('amount', texts.money, { phone: 'value' }),
        actionsColumn(({ tone }) => <RowButton label={texts.action} of={texts.tones[tone]} onClick={() => {}} />),
      ]}
    />
  )
}
