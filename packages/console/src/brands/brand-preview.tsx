import { brandColours } from '@dealer-esim/contract'
import { Group, SegmentedControl, Stack, Title } from '@mantine/core'
import { type CSSProperties, type ReactNode, useState } from 'react'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import type { BrandDraft } from './brand-draft.ts'

type Scheme = 'light' | 'dark'

/** The colours that a face is drawn in. */
interface Paint {
  accent: string
  onAccent: string
  edge: string
  text: string
  tint: string
  ground: string
  card: string
  line: string
  ink: string
  soft: string
}

const GROUNDS: Record<Scheme, Pick<Paint, 'ground' | 'card' | 'line' | 'ink' | 'soft'>> = {
  light: { ground: '#f6f5f1', card: '#ffffff', line: '#e2dfd8', ink: '#1b1f23', soft: '#555d65' },
  dark: { ground: '#111416', card: '#1b1f22', line: '#343a3f', ink: '#eceff0', soft: '#a9b2b8' },
}

/** Small drawings of everything that wears the brand, in the colours that it will have. */
export function BrandPreview({ draft, isOperator }: { draft: BrandDraft; isOperator: boolean }) {
  const [scheme, setScheme] = useState<Scheme>('light')
  const { accent, onAccent, ...schemes } = brandColours(draft.accent)
  const paint = { accent, onAccent, ...schemes[scheme], ...GROUNDS[scheme] }
  const paper = { accent, onAccent, ...schemes.light, ...GROUNDS.light }
  const face = { draft, paint, scheme }
  return (
    <section className="brand-preview" aria-label={t.brands.preview}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t.brands.preview}</Title>
        <SegmentedControl
          size="xs"
          value={scheme}
          onChange={(value) => setScheme(value as Scheme)}
          aria-label={t.brands.preview}
          data={[
            { value: 'light', label: t.brands.light },
            { value: 'dark', label: t.brands.dark },
          ]}
        />
      </Group>
      <div className="brand-faces" aria-hidden="true">
        <Figure caption={t.brands.faces.traveller}>
          <TravellerFace {...face} />
        </Figure>
        <Stack gap="sm">
          <Figure caption={t.brands.faces.mail}>
            <MailFace {...face} />
          </Figure>
          {/* Paper is white. */}
          <Figure caption={t.brands.faces.card}>
            <CardFace draft={draft} paint={paper} scheme="light" />
          </Figure>
          {isOperator && (
            <>
              <Figure caption={t.brands.faces.signIn}>
                <SignInFace {...face} />
              </Figure>
              <Figure caption={t.brands.faces.console}>
                <ConsoleFace {...face} />
              </Figure>
            </>
          )}
        </Stack>
      </div>
    </section>
  )
}

interface FaceProps {
  draft: BrandDraft
  paint: Paint
  scheme: Scheme
}

function Figure({ caption, children }: { caption: string; children: ReactNode }) {
  return (
    <figure>
      {children}
      <figcaption>{caption}</figcaption>
    </figure>
  )
}

function Face({ paint, flat = false, children }: { paint: Paint; flat?: boolean; children: ReactNode }) {
  const style: CSSProperties = {
    background: flat ? paint.card : paint.ground,
    color: paint.ink,
    borderColor: paint.line,
  }
  return (
    <div className="brand-face" style={style}>
      {children}
    </div>
  )
}

function Head({ draft, scheme, paint }: FaceProps) {
  return (
    <div className="brand-head">
      <Mark {...{ draft, scheme, paint }} />
      <b>{draft.name}</b>
    </div>
  )
}

/** The logo, or the first letter of the name on the accent. */
function Mark({ draft, scheme, paint }: FaceProps) {
  const { logoLight, logoDark, icon } = draft.pictures
  const shown = (scheme === 'dark' ? logoDark : logoLight) ?? logoLight ?? icon
  if (shown) return <img src={shown} alt="" />
  return (
    <span className="brand-letter" style={{ background: paint.accent, color: paint.onAccent }}>
      {[...draft.name][0]?.toUpperCase() ?? '·'}
    </span>
  )
}

function Action({ paint, children }: { paint: Paint; children: ReactNode }) {
  return (
    <div className="brand-action" style={{ background: paint.accent, color: paint.onAccent, borderColor: paint.edge }}>
      {children}
    </div>
  )
}

function Contact({ draft, paint }: FaceProps) {
  return (
    <div style={{ color: paint.text }}>
      {draft.supportEmail && <div className="break">{draft.supportEmail}</div>}
      {draft.supportPhone && <div>{draft.supportPhone}</div>}
    </div>
  )
}

const { sample } = t.brands

function TravellerFace(props: FaceProps) {
  const { draft, paint } = props
  return (
    <Face paint={paint}>
      <Head {...props} />
      <div className="brand-box" style={{ background: paint.card, borderColor: paint.line }}>
        <b>{sample.place}</b>
        <div style={{ color: paint.soft }}>{sample.package}</div>
      </div>
      <div className="brand-box" style={{ background: paint.tint, borderColor: paint.tint }}>
        {sample.note}
      </div>
      <Action paint={paint}>{sample.install}</Action>
      <div className="brand-box" style={{ background: paint.card, borderColor: paint.line, color: paint.text }}>
        {sample.anotherPhone}
      </div>
      <b>{formatMessage(sample.helpFrom, { name: draft.name })}</b>
      <Contact {...props} />
    </Face>
  )
}

function MailFace(props: FaceProps) {
  const { draft, paint } = props
  return (
    <Face paint={paint}>
      <div style={{ color: paint.soft }}>
        <b style={{ color: paint.ink }}>{draft.senderName || draft.name}</b> {sample.subject}
      </div>
      <Head {...props} />
      <div className="brand-box" style={{ background: paint.card, borderColor: paint.line }}>
        <b>{sample.place}</b> {sample.package}
        <Action paint={paint}>{sample.mailInstall}</Action>
      </div>
      <Contact {...props} />
    </Face>
  )
}

function CardFace(props: FaceProps) {
  return (
    <Face paint={props.paint} flat>
      <Head {...props} />
      <div>
        <b>{sample.place}</b> {sample.package}
      </div>
      <Contact {...props} />
    </Face>
  )
}

function SignInFace(props: FaceProps) {
  const { paint } = props
  return (
    <Face paint={paint} flat>
      <Head {...props} />
      <div className="brand-box" style={{ borderColor: paint.line, color: paint.soft }}>
        {t.brands.email}
      </div>
      <Action paint={paint}>{sample.signIn}</Action>
    </Face>
  )
}

function ConsoleFace(props: FaceProps) {
  const { paint } = props
  return (
    <Face paint={paint}>
      <Head {...props} />
      <div className="brand-row">
        <b>{t.orders.title}</b>
        <Action paint={paint}>{sample.order}</Action>
      </div>
      <div className="brand-row">
        <span style={{ color: paint.text }}>#1042</span>
        <span>{sample.package}</span>
        <span style={{ color: paint.soft }}>{sample.delivered}</span>
      </div>
    </Face>
  )
}
