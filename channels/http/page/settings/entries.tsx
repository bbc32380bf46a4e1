/** The field of a record or a list in the forms: its text, how its first entry begins, and what entries may have. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Sentence } from '../parts/with-code.tsx';
import { say } from '../texts.ts';
import { firstEntry, type Schema, type Setting } from './config-values.ts';

/** What draws the field of a setting. */
export interface ControlProps {
  setting: Setting;
  text: string;
  edit: (text: string) => void;
  attributes: { id: string; 'aria-describedby': string; 'aria-invalid': true | undefined };
}

/** A text of several lines; a record without entries is only that, until one is added. */
export function LongText({ setting, text, edit, attributes }: ControlProps): JSX.Element {
  const { kind, isHidden, schema } = setting;
  const [hasFocus, setFocus] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const isEmpty = kind === 'json' && !hasFocus && (text === '{}' || text === '[]');
  useEffect(() => {
    if (hasFocus) field.current?.focus();
  }, [hasFocus]);
  if (isEmpty) {
    const add = (): void => {
      edit(JSON.stringify(firstEntry(schema), undefined, 2));
      setFocus(true);
    };
    return (
      <>
        <p class="quiet">{say('page.set.no_entries')}</p>
        <button
          {...attributes}
          type="button"
          aria-label={`${say('page.set.add')}: ${schema.title ?? setting.name}`}
          onClick={add}
        >
          {say('page.set.add')}
        </button>
      </>
    );
  }
  return (
    <textarea
      {...attributes}
      ref={field}
      rows={Math.min(12, Math.max(kind === 'long' ? 5 : 2, text.split('\n').length))}
      class={kind === 'json' ? 'code' : undefined}
      spellcheck={kind === 'long'}
      dir={kind === 'long' ? 'auto' : undefined}
      placeholder={kind === 'list' ? say('page.set.one_a_line') : undefined}
      disabled={isHidden}
      value={text}
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
      onInput={({ currentTarget }) => edit(currentTarget.value)}
    />
  );
}

/** What the entries of a record or a list may have. */
export function EntryFields({ schema: { items, additionalProperties } }: { schema: Schema }): JSX.Element {
  const entry = items ?? additionalProperties;
  if (typeof entry !== 'object') return <></>;
  const kinds = [entry, ...(entry.oneOf ?? []), ...(entry.anyOf ?? [])];
  const fields: Record<string, Schema> = Object.assign({}, ...kinds.map(({ properties }) => properties));
  const described = Object.entries(fields).filter(([, { description }]) => description !== undefined);
  if (described.length === 0) return <></>;
  return (
    <details class="config-entry">
      <summary>{say('page.set.entry_fields')}</summary>
      <dl class="quiet">
        {described.map(([name, { description = '' }]) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <Sentence text={description} />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
