import type { EventEmitter } from 'node:events'
import { type Argument, type Command, Help, type Option } from 'commander'
import zhHans from './help.zh-Hans.json' with { type: 'json' }

/*
 * The help of every command in another language, by its English text. Output for programs, codes and the names of commands
 * and options stay English.
 */

type Texts = Readonly<Record<string, string>>

/** `zh_CN.UTF-8`, `zh-Hans`, `zh`. Readers of traditional characters, and terminals of another encoding, get English. */
const SIMPLIFIED = /^zh([_-](cn|sg|hans)([_-][a-z]{2})?)?(\.utf-?8)?$/i

/** The texts of the language that the environment asks for; undefined: English. */
export function helpLanguage(env: Readonly<Record<string, string | undefined>>): Texts | undefined {
  const language = [env.DEALER_ESIM_LANG, env.LC_ALL, env.LC_MESSAGES, env.LANG].find(Boolean)
  return language !== undefined && SIMPLIFIED.test(language) ? zhHans : undefined
}

const HELP_OPTION = 'display help for command'
const AFTER_ERROR = 'Add --help for usage.'
/** Commander's own words. */
const WORDS = [
  'Usage:',
  'Arguments:',
  'Options:',
  'Global Options:',
  'Commands:',
  'default',
  'choices',
  HELP_OPTION,
  AFTER_ERROR,
]

/** Replaces the texts of a command and of all commands below it. */
export function translateHelp(command: Command, texts: Texts): void {
  const translate = (text: string) => translation(texts, text) ?? text
  const withWords = (text: string) =>
    text.replace(/\((default|choices): /g, (_, word: string) => `(${translate(word)}: `)
  const helpCommand = command
    .createHelp()
    .visibleCommands(command)
    .find((each) => each.name() === 'help')
  command.description(translate(command.description()))
  command.helpOption('-h, --help', translate(HELP_OPTION))
  if (helpCommand) command.helpCommand('help [command]', translate(HELP_OPTION))
  command.showHelpAfterError(translate(AFTER_ERROR))
  for (const described of describedParts(command)) described.description = translate(described.description)
  command.configureHelp({
    ...command.configureHelp(),
    styleTitle: translate,
    optionDescription: (option) => withWords(new Help().optionDescription(option)),
    argumentDescription: (argument) => withWords(new Help().argumentDescription(argument)),
  })
  for (const show of eventsOf(command).listeners('afterHelp')) {
    eventsOf(command).off('afterHelp', show as () => void)
    command.on('afterHelp', (context: HelpContext) => {
      show({ ...context, write: (text: string) => context.write(translateLines(text, translate)) })
    })
  }
  for (const each of command.commands) translateHelp(each, texts)
}

const NAMES = '{names}'

/**
 * A text that lists names has one translation for all of them: `one of {names}`.
 * @returns undefined if it has no translation
 */
export function translation(texts: Texts, text: string): string | undefined {
  if (texts[text] !== undefined) return texts[text]
  for (const [english, translated] of Object.entries(texts)) {
    const [before, after] = english.split(NAMES)
    if (after === undefined || !text.startsWith(before!) || !text.endsWith(after)) continue
    return translated.replace(NAMES, () => text.slice(before!.length, text.length - after.length))
  }
  return undefined
}

/** Every command is one; commander's types have only its own part of the interface. */
function eventsOf(command: Command): EventEmitter {
  return command as unknown as EventEmitter
}

interface HelpContext {
  write(text: string): void
}

function describedParts({ options, registeredArguments }: Command): (Option | Argument)[] {
  return [...options, ...registeredArguments]
}

/** Every text of the help of a command and of those below it, as translations are keyed. */
export function helpTexts(command: Command): string[] {
  const after: string[] = []
  eventsOf(command).emit('afterHelp', { command, error: false, write: (text: string) => after.push(text) })
  const own = [command.description(), ...describedParts(command).map(({ description }) => description)]
  const lines = after.flatMap(linesOf).map(({ text }) => text)
  const found = [...own, ...lines].filter(isForPeople)
  return [...new Set([...WORDS, ...found, ...command.commands.flatMap(helpTexts)])]
}

function translateLines(text: string, translate: (text: string) => string): string {
  return linesOf(text)
    .map(({ indent, text: line }) => indent + (isForPeople(line) ? translate(line) : line))
    .join('\n')
}

/** Not a command to type, JSON, or a name. */
function isForPeople(line: string): boolean {
  return /\s|:$/.test(line) && !line.startsWith('$ ') && !/^[{"]/.test(line)
}

/** A text that follows the help, with paragraphs and entries of lists on one line each: `0  done`. */
function linesOf(text: string): { indent: string; text: string }[] {
  const lines: { indent: string; text: string }[] = []
  for (const line of text.split('\n')) {
    const words = line.trimStart()
    const indent = line.slice(0, line.length - words.length)
    const previous = lines.at(-1)
    const isContinued = indent.length > 2 || (indent === '' && words !== '' && previous?.indent === '')
    if (previous && isContinued && isForPeople(previous.text) && !previous.text.endsWith(':'))
      previous.text += ` ${words}`
    else lines.push({ indent, text: words })
  }
  return lines
}
