/**
 * The arguments of a call as a person reads them: a command as code, a file with its path and what changes in it, anything else
 * by its name. Nothing is left out: what is approved can be read whole.
 */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Approval } from '../../api.ts';
import { say } from '../../texts.ts';
import { type DiffLine, lineDiff } from './line-diff.ts';

/** Longest text that is shown at once, in UTF-16 units, and most lines; the rest is one press away. */
const MAX_SHOWN_CHARS = 4_000;
const MAX_SHOWN_LINES = 80;
/** A longer text gets its own lines. */
const MAX_IN_LINE = 100;

/** Labels of arguments that many tools have; others keep the names that their tools give them. */
const LABELS = new Map([
  ['command', say('page.approval.command')],
  ['argv', say('page.approval.command')],
  ['path', say('page.approval.path')],
  ['content', say('page.approval.content')],
  ['url', say('page.approval.url')],
]);

/** What an argument is called on the page. */
export function argumentLabel(name: string): string {
  return LABELS.get(name) ?? visible(name);
}

/** The arguments, each with its name. */
export function CallArguments({ args, files }: Pick<Approval, 'args' | 'files'>): JSX.Element {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return <Block text={displayText(args)} />;
  const entries: [string, unknown][] = Object.entries(args);
  const change = changeOf(new Map(entries), files);
  return (
    <>
      {entries
        .filter(([name]) => !change?.names.includes(name))
        .map(([name, value]) => (
          <Argument key={name} name={name} value={value} />
        ))}
      {change !== undefined && (
        <>
          <p class="argument-name">{say('page.approval.change')}</p>
          <Change before={change.before} after={change.after} />
        </>
      )}
    </>
  );
}

/** What the call changes in a file, where its arguments say that. */
function changeOf(
  args: ReadonlyMap<string, unknown>,
  files: Approval['files'],
): { names: string[]; before: string; after: string } | undefined {
  const [before, after, content] = ['old_text', 'new_text', 'content'].map((name) => args.get(name));
  if (typeof before === 'string' && typeof after === 'string')
    return { names: ['old_text', 'new_text'], before, after };
  const file = files.find(({ path }) => path === args.get('path'));
  if (typeof content !== 'string' || file === undefined || !('text' in file) || file.text === undefined)
    return undefined;
  return { names: ['content'], before: file.text, after: content };
}

function Argument({ name, value }: { name: string; value: unknown }): JSX.Element {
  const text = name === 'argv' && isWords(value) ? value.map(shellWord).join(' ') : displayText(value);
  const isShort = text.length <= MAX_IN_LINE && !text.includes('\n');
  const isCommand = name === 'command' || name === 'argv';
  const title = argumentLabel(name);
  if (isShort && !isCommand)
    return (
      <p class="argument">
        <span class="argument-name">{title}</span> <code>{visible(text)}</code>
      </p>
    );
  return (
    <div class="argument">
      <p class="argument-name">{title}</p>
      <Block text={text} look={isCommand ? 'command' : ''} />
    </div>
  );
}

/** A text on its own lines; a long one is folded. */
function Block({ text, look = '' }: { text: string; look?: string }): JSX.Element {
  const content = visible(text);
  const lines = content.split('\n');
  return (
    <Folded isLong={content.length > MAX_SHOWN_CHARS || lines.length > MAX_SHOWN_LINES} look={look}>
      {(isAll) => (isAll ? content : lines.slice(0, MAX_SHOWN_LINES).join('\n').slice(0, MAX_SHOWN_CHARS))}
    </Folded>
  );
}

function Change({ before, after }: { before: string; after: string }): JSX.Element {
  const lines = lineDiff(before, after);
  const chars = lines.reduce((sum, { text }) => sum + text.length, 0);
  return (
    <Folded isLong={chars > MAX_SHOWN_CHARS || lines.length > MAX_SHOWN_LINES} look="change">
      {(isAll) => (isAll ? lines : lines.slice(0, MAX_SHOWN_LINES)).map((line) => diffLine(line, isAll))}
    </Folded>
  );
}

function diffLine({ kind, text }: DiffLine, isAll: boolean): JSX.Element {
  const shownText = visible(isAll ? text : text.slice(0, MAX_SHOWN_CHARS / MAX_SHOWN_LINES));
  if (kind === 'same') return <span>{`  ${shownText}\n`}</span>;
  return kind === 'removed' ? <del>{`- ${shownText}\n`}</del> : <ins>{`+ ${shownText}\n`}</ins>;
}

/** A text of which a long one is first shown in part. */
function Folded(props: {
  isLong: boolean;
  look: string;
  children: (isAll: boolean) => ComponentChildren;
}): JSX.Element {
  const [isAll, setAll] = useState(!props.isLong);
  const text = useRef<HTMLPreElement>(null);
  // The button that unfolded it is gone: the focus goes on here.
  useEffect(() => {
    if (isAll && props.isLong) text.current?.focus();
  }, [isAll]);
  const place = (
    <pre ref={text} tabIndex={0} class={props.look} dir="auto">
      {props.children(isAll)}
    </pre>
  );
  if (!props.isLong) return place;
  return (
    <div class="folded-argument">
      {place}
      {!isAll && (
        <button type="button" class="text-button" onClick={() => setAll(true)}>
          {say('page.long.all')}
        </button>
      )}
    </div>
  );
}

function displayText(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : (JSON.stringify(value, null, 2) ?? '');
}

function isWords(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string');
}

/** A word written so that a shell reads it as one. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The text with invisible and direction-changing characters as numbers: what is read is what runs. */
export function visible(text: string): string {
  return text.replaceAll(
    /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
