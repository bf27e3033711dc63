import { type BrandColours, brandColours, contrastOf, TEXT_CONTRAST_MIN } from '@dealer-esim/contract'
import type { NamedBrandView } from '@dealer-esim/gateway/http/console/brands/brands.ts'
import { Alert, Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useRef, useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { useChange } from '#api/use-api.ts'
import { fieldErrors, formFields, markSaved } from '#parts/form-values.ts'
import { notifyError } from '#parts/notify.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { type BrandDraft, type BrandSettings, isAccent, SLOTS, type Slot, settingsOf } from './brand-draft.ts'
import { BrandPreview } from './brand-preview.tsx'
import { type ChosenPicture, PictureField } from './picture-field.tsx'

interface BrandFormProps {
  view: Pick<NamedBrandView, 'settings' | 'pictures'>
  /** Where it is saved. `brand` is the typed name of a new brand. */
  pathOf(brand: string): string
  /** Asks for the name of a new brand in requests. */
  isNew?: boolean
  /** A dealer's brand has no console. */
  isOperator?: boolean
  mayEdit: boolean
  onSaved?(): void
}

const DEFAULT_SHOWN = '#14655a'
const LABELS = Object.values(t.brands.labels)

/** The fields of a brand beside its faces, which change while it is typed. */
export function BrandForm({ view, pathOf, isNew = false, isOperator = false, mayEdit, onSaved }: BrandFormProps) {
  const form = useRef<HTMLFormElement>(null)
  const save = useChange({ success: t.common.saved, quiet: true })
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [chosen, setChosen] = useState<Partial<Record<Slot, ChosenPicture | null>>>({})
  const [typed, setTyped] = useState<Record<string, string>>(() => textsOf(view.settings))
  const draft = draftOf(typed, view.pictures, chosen)

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const target = event.currentTarget
    const fields = formFields(target)
    const faults: Record<string, string> = {}
    if (fields.accent && !isAccent(fields.accent)) faults.accent = t.brands.accentInvalid
    if (isNew && !/^[a-z0-9-]{1,32}$/.test(fields.brand ?? '')) faults.brand = t.brands.brandInvalid
    setErrors(faults)
    if (Object.keys(faults).length > 0) return
    const pictures = Object.fromEntries(
      Object.entries(chosen).map(([slot, file]) => [slot, file === null ? null : file.base64]),
    )
    // The texts of pages are set by file or by the API; saving the form keeps them.
    const body = { ...settingsOf(fields), texts: view.settings.texts ?? null, pictures }
    save.mutate(
      { method: 'PUT', path: pathOf(fields.brand ?? ''), body },
      {
        onSuccess: () => {
          markSaved(target)
          onSaved?.()
        },
        onError: showError,
      },
    )
  }

  /** Errors from the gateway are shown at the fields to correct. */
  function showError(error: ApiError) {
    const found = fieldErrors(error)
    if (Object.keys(found).length > 0) setErrors(found)
    else notifyError(error)
  }

  const text = (name: keyof BrandSettings & string, label: string, more: object = {}) => (
    <TextInput
      name={name}
      label={label}
      defaultValue={String(view.settings[name] ?? '')}
      error={errors[name]}
      readOnly={!mayEdit}
      {...more}
    />
  )
  return (
    <div className="brand-page">
      <form ref={form} onSubmit={submit} onInput={(event) => setTyped(formFields(event.currentTarget))} noValidate>
        <Stack>
          <Card title={t.brands.pictures}>
            {isNew && (
              <TextInput
                name="brand"
                label={t.brands.brand}
                description={t.brands.brandHint}
                error={errors.brand}
                maxLength={32}
                required
              />
            )}
            {text('name', t.brands.name, { description: t.brands.nameHint, maxLength: 100, required: true })}
            <SimpleGrid cols={3} spacing="xs">
              {SLOTS.map((slot) => (
                <PictureField
                  key={slot}
                  slot={slot}
                  shown={draft.pictures[slot]}
                  error={errors[slot]}
                  mayEdit={mayEdit}
                  onChoose={(file) => setChosen((before) => ({ ...before, [slot]: file }))}
                />
              ))}
            </SimpleGrid>
            <Hint>{t.brands.picturesHint}</Hint>
            {text('accent', t.brands.accent, {
              placeholder: DEFAULT_SHOWN,
              maxLength: 7,
              spellCheck: false,
              leftSection: <Swatch colour={draft.accent} />,
            })}
            <Contrast accent={draft.accent} />
          </Card>
          <Card title={t.brands.help}>
            {text('supportEmail', t.brands.email, { type: 'email', maxLength: 254 })}
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              {text('supportPhone', t.brands.phone, { type: 'tel', maxLength: 40 })}
              {text('supportHours', t.brands.hours, { maxLength: 100 })}
            </SimpleGrid>
            <Hint>{t.brands.hoursHint}</Hint>
          </Card>
          <Card title={t.brands.mail}>
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              {text('senderName', t.brands.sender, { maxLength: 100, placeholder: draft.name })}
              {text('replyTo', t.brands.replyTo, { type: 'email', maxLength: 254, placeholder: draft.supportEmail })}
            </SimpleGrid>
            {text('language', t.brands.language, { description: t.brands.languageHint, maxLength: 35 })}
          </Card>
          <Links settings={view.settings} errors={errors} mayEdit={mayEdit}>
            {text('topUpUrl', t.brands.topUpUrl, { type: 'url', placeholder: t.brands.urlStart, maxLength: 300 })}
          </Links>
          {mayEdit && (
            <Group>
              <Button type="submit" loading={save.isPending}>
                {t.common.save}
              </Button>
            </Group>
          )}
        </Stack>
      </form>
      <BrandPreview draft={draft} isOperator={isOperator} />
    </div>
  )
}

function Links(props: {
  settings: BrandSettings
  errors: Record<string, string>
  mayEdit: boolean
  children: React.ReactNode
}) {
  const links = props.settings.legalLinks ?? []
  const rows = Math.max(LABELS.length, links.length)
  return (
    <Card title={t.brands.linksTitle}>
      {Array.from({ length: rows }, (_, index) => {
        const number = { number: index + 1 }
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its number
          <SimpleGrid key={index} cols={2} spacing="xs">
            <TextInput
              name={`link-label-${index}`}
              label={formatMessage(t.brands.label, number)}
              defaultValue={links[index]?.label ?? LABELS[index] ?? ''}
              error={props.errors[`legalLinks.${index}.label`]}
              readOnly={!props.mayEdit}
              maxLength={40}
            />
            <TextInput
              name={`link-url-${index}`}
              label={formatMessage(t.brands.url, number)}
              type="url"
              placeholder={t.brands.urlStart}
              defaultValue={links[index]?.url ?? ''}
              error={props.errors[`legalLinks.${index}.url`]}
              readOnly={!props.mayEdit}
              maxLength={300}
            />
          </SimpleGrid>
        )
      })}
      {props.children}
    </Card>
  )
}

/** Says what of the accent can be read, and what takes its place where it cannot. */
function Contrast({ accent }: { accent: string }) {
  const colours = brandColours(accent)
  const white = contrastOf('#ffffff', accent)
  const ratio = { ratio: white.toFixed(1) }
  if (white >= TEXT_CONTRAST_MIN && colours.light.text === accent)
    return <Hint>{formatMessage(t.brands.readable, ratio)}</Hint>
  return (
    <Alert color="orange" role="status">
      <Stack gap="xs">
        <Text size="sm">
          {formatMessage(white >= TEXT_CONTRAST_MIN ? t.brands.readable : t.brands.unreadable, ratio)}
        </Text>
        {samplesOf(colours).map(({ label, ink, ground }) => (
          <Group key={label} gap="xs" wrap="nowrap">
            <span aria-hidden="true" style={{ padding: '2px 8px', borderRadius: 6, background: ground, color: ink }}>
              {t.brands.sample.letters}
            </span>
            <Text size="sm">{label}</Text>
            <Text size="sm" ml="auto" style={{ fontVariantNumeric: 'tabular-nums' }}>
              {contrastOf(ink, ground).toFixed(1)} : 1
            </Text>
          </Group>
        ))}
      </Stack>
    </Alert>
  )
}

function samplesOf({ accent, onAccent, light, dark }: BrandColours) {
  return [
    { label: t.brands.onButtons, ink: onAccent, ground: accent },
    { label: t.brands.links, ink: light.text, ground: '#ffffff' },
    { label: t.brands.linksDark, ink: dark.text, ground: '#1b1f22' },
  ]
}

function Swatch({ colour }: { colour: string }) {
  return <span aria-hidden="true" style={{ width: 18, height: 18, borderRadius: 4, background: colour }} />
}

function textsOf(settings: BrandSettings): Record<string, string> {
  const entries = Object.entries(settings).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(entries)
}

function draftOf(
  typed: Record<string, string>,
  saved: NamedBrandView['pictures'],
  chosen: Partial<Record<Slot, ChosenPicture | null>>,
): BrandDraft {
  const pictures: BrandDraft['pictures'] = {}
  for (const slot of SLOTS) {
    const file = chosen[slot]
    const own = saved[slot]
    // The console serves pictures below its own address, too.
    const shown = file === undefined ? own?.slice(1) : file?.dataUrl
    if (shown !== undefined) pictures[slot] = shown
  }
  const accent = typed.accent ?? ''
  return {
    name: typed.name ?? '',
    accent: isAccent(accent) ? accent.toLowerCase() : DEFAULT_SHOWN,
    supportEmail: typed.supportEmail ?? '',
    supportPhone: typed.supportPhone ?? '',
    senderName: typed.senderName ?? '',
    pictures,
  }
}
