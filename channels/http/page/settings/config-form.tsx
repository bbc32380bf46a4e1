/** The forms of `config.json` and of profiles: every setting with its name, its sentence, its default and its error at the field. */
import { createContext, type JSX } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { messageOf } from '../failures/in-place.ts';
import { ask } from '../requests.ts';
import { Sentence } from '../parts/with-code.tsx';
import { kept, say, type TextRef } from '../texts.ts';
import { type ControlProps, EntryFields, LongText } from './entries.tsx';
import { type Answer, Choice, Section } from './parts.tsx';
import { problemsByField, type Schema, type Setting, settingsIn, textOf, valueOf } from './config-values.ts';

/** `config.json` as the API gives it. */
export interface Config {
  file: string;
  version: string;
  schema: Schema;
  written: unknown;
  values: unknown;
  environment: { name: string; isSet: boolean }[];
  problems: TextRef[];
  needsRestart: string[];
  afterRestart: string[];
}

/** A change as the API takes it: without a value, the field gets its default. */
export interface Change {
  path: string[];
  value?: unknown;
}

/** Settings under one title. */
export type Part = readonly [title: string, settings: readonly Setting[], about?: string];

/** `config.json`, and what notes that saved fields wait for a restart. */
export const ConfigAnswer = createContext<
  (Answer<Config> & { noteWaiting: (fields: readonly string[]) => void }) | undefined
>(undefined);

/** The form of some parts of `config.json`: each a title and the paths of what it has. */
export function ConfigForm(props: {
  parts: readonly (readonly [string, readonly string[]])[];
  item?: string;
}): JSX.Element {
  const config = useContext(ConfigAnswer);
  if (config?.body === undefined) return <></>;
  const { body, reload, noteWaiting } = config;
  const parts = props.parts.map(([title, paths]): Part => [
    title,
    paths.flatMap((path) => settingsIn(body, path.split('.'))),
    paths.map((path) => groupDescription(body.schema, path)).join(' '),
  ]);
  const save = async (changes: Change[]): Promise<string> => {
    try {
      const { needsRestart } = await ask<{ needsRestart: string[] }>('PATCH', '/v1/config', {
        version: body.version,
        changes,
      });
      noteWaiting(needsRestart);
      await reload();
      return needsRestart.length === 0 ? say('page.set.saved') : say('page.set.saved_later');
    } catch (error) {
      // What was typed stays, on top of what the file says by now.
      if (error instanceof ApiError && error.status === 409) await reload();
      throw error;
    }
  };
  return (
    <SettingsForm
      parts={parts}
      problems={body.problems}
      afterRestart={body.afterRestart}
      item={props.item}
      save={save}
    />
  );
}

/** What the file says of a group of settings as a whole; '' for a single one, whose field says it. */
function groupDescription({ properties }: Schema, path: string): string {
  const group = properties?.[path];
  return group?.properties === undefined ? '' : (group.description ?? '');
}

interface FormProps {
  parts: readonly Part[];
  problems: readonly TextRef[];
  afterRestart?: readonly string[];
  /** The path of the setting that is looked for. */
  item?: string | undefined;
  /** Gives what to say then; throws an `ApiError`. */
  save: (changes: Change[]) => Promise<string>;
}

type ByField<Value> = Readonly<Record<string, Value>>;

/** What was typed in a form, what was refused of it, and what saves it. */
function useEdits({ parts, save }: FormProps) {
  /** By path; null = reset to the default. */
  const [edits, setEdits] = useState<ByField<string | null>>({});
  const [refused, setRefused] = useState<ByField<string>>({});
  const [report, setReport] = useState('');
  const settings = parts.flatMap(([, inPart]) => inPart);
  const names = settings.map(({ name }) => name);
  const discard = (): void => {
    setEdits({});
    setRefused({});
  };
  const edit = (name: string, text: string | null): void => {
    setReport('');
    setEdits((all) => ({ ...all, [name]: text }));
    setRefused((all) => Object.fromEntries(Object.entries(all).filter(([field]) => field !== name)));
  };
  const refuse = (problems: ByField<string>): void => {
    setRefused(problems);
    const [first = ''] = names.filter((name) => name in problems);
    document.getElementById(first === '' ? 'settings-refused' : `set-${first}`)?.focus();
  };
  const submit = async (): Promise<void> => {
    const { changes, wrong } = changesIn(settings, edits);
    if (Object.keys(wrong).length > 0) return refuse(wrong);
    try {
      setReport(changes.length === 0 ? say('page.set.unchanged') : await save(changes));
      discard();
    } catch (error) {
      const problems = error instanceof ApiError ? error.problems : [];
      refuse(problems.length > 0 ? problemsByField(problems, names, kept) : { '': messageOf(error) });
    }
  };
  return { edits, refused, report, names, edit, discard, submit };
}

/** The changes that were typed, and the fields whose text is no value. */
function changesIn(settings: readonly Setting[], edits: ByField<string | null>) {
  const wrong: Record<string, string> = {};
  const changes = settings.flatMap((setting): Change[] => {
    const { name, path } = setting;
    const text = edits[name];
    if (text === undefined || text === textOf(setting)) return [];
    if (text === null || text === '') return [{ path }];
    const value = valueOf(setting, text);
    if (value === undefined) wrong[name] = say('page.set.not_json');
    return [{ path, value }];
  });
  return { changes, wrong };
}

/** Fields of settings in their parts, with a button to save as soon as one was changed. */
export function SettingsForm(props: FormProps): JSX.Element {
  const { edits, refused, report, names, edit, discard, submit } = useEdits(props);
  const { '': general = '', ...byField } = { ...problemsByField(props.problems, names, kept), ...refused };
  return (
    <form
      class="config-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p id="settings-refused" class="error-text settings-errors" role="alert" tabIndex={-1}>
        {general}
      </p>
      {props.parts.map(([title, inPart, about = '']) => (
        <Section key={title} title={title} about={about.trim() && <Sentence text={about.trim()} />}>
          {inPart.map((setting) => (
            <SettingField
              key={setting.name}
              setting={setting}
              text={textNow(setting, edits[setting.name])}
              isReset={edits[setting.name] === null}
              problem={byField[setting.name]}
              waits={(props.afterRestart ?? []).some((path) => isWithin(setting.name, path))}
              isWanted={props.item === setting.name}
              edit={(text) => edit(setting.name, text)}
            />
          ))}
        </Section>
      ))}
      <p class="settings-status" role="status">
        {report}
      </p>
      {Object.keys(edits).length > 0 && (
        <div class="config-save">
          <button type="submit" class="primary">
            {say('page.save')}
          </button>
          <button type="button" onClick={discard}>
            {say('page.set.discard')}
          </button>
        </div>
      )}
    </form>
  );
}

/** True for a path, and for what is below it. */
export function isWithin(name: string, path: string): boolean {
  return name === path || name.startsWith(`${path}.`);
}

function textNow(setting: Setting, edit: string | null | undefined): string {
  if (edit === null) return textOf({ ...setting, value: setting.schema.default });
  return edit ?? textOf(setting);
}

function SettingField(props: {
  setting: Setting;
  text: string;
  isReset: boolean;
  problem: string | undefined;
  waits: boolean;
  isWanted: boolean;
  edit: (text: string | null) => void;
}): JSX.Element {
  const { setting, problem, edit } = props;
  const { name, schema, written, kind } = setting;
  const id = `set-${name}`;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (props.isWanted) place.current?.scrollIntoView({ block: 'center' });
  }, [props.isWanted]);
  return (
    <div ref={place} class={`setting ${kind}${props.isWanted ? ' wanted' : ''}`}>
      <About id={id} setting={setting} waits={props.waits} />
      <div class="setting-control">
        <Control
          setting={setting}
          text={props.text}
          edit={edit}
          attributes={{
            id,
            'aria-describedby': `${id}-about${problem === undefined ? '' : ` ${id}-problem`}`,
            'aria-invalid': problem === undefined ? undefined : true,
          }}
        />
        {written !== undefined && !props.isReset && (
          <button
            type="button"
            class="text-button"
            aria-label={`${say('page.set.default')}: ${schema.title ?? name}`}
            onClick={() => edit(null)}
          >
            {say('page.set.default')}
          </button>
        )}
        {problem !== undefined && (
          <p id={`${id}-problem`} class="error-text">
            {problem}
          </p>
        )}
      </div>
    </div>
  );
}

/** Longest default that is shown beside the path. */
const MAX_DEFAULT_CHARS = 40;

/** What a setting is called and does, its path, its default, and whether it waits for a restart. */
function About({ id, setting, waits }: { id: string; setting: Setting; waits: boolean }): JSX.Element {
  const { name, schema } = setting;
  const defaultText = textOf({ ...setting, value: schema.default });
  return (
    <div class="setting-about">
      <label for={id}>{schema.title ?? name}</label>
      <div id={`${id}-about`}>
        <p class="quiet">
          <Sentence text={schema.description ?? ''} />
        </p>
        <p class="setting-meta">
          <code>{name}</code>
          {defaultText.length < MAX_DEFAULT_CHARS && (
            <span>{say('page.set.default_is', { value: defaultText || say('page.set.unset') })}</span>
          )}{' '}
          {waits && <span class="tag">{say('page.set.restart_tag')}</span>}
        </p>
      </div>
      <EntryFields schema={schema} />
    </div>
  );
}

function Control({ setting, text, edit, attributes }: ControlProps): JSX.Element {
  const { schema, kind, isHidden } = setting;
  const typed = ({ currentTarget: { value } }: { currentTarget: { value: string } }): void => edit(value);
  switch (kind) {
    case 'switch':
      return (
        <input
          {...attributes}
          type="checkbox"
          role="switch"
          checked={text === 'true'}
          onChange={({ currentTarget }) => edit(String(currentTarget.checked))}
        />
      );
    case 'choice': {
      const values = (schema.enum ?? [true, false]).map(String);
      const labels = values.map((value) => [value, YES_NO[value] ?? value]);
      const unset = schema.default === undefined ? [['', say('page.set.not_chosen')]] : [];
      return (
        <Choice
          attributes={attributes}
          options={Object.fromEntries([...unset, ...labels])}
          value={text}
          change={edit}
        />
      );
    }
    case 'number':
      return (
        <input
          {...attributes}
          type="number"
          step={schema.type === 'integer' ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
          value={text}
          onInput={typed}
        />
      );
    case 'text':
      return (
        <input
          {...attributes}
          type="text"
          autocomplete="off"
          value={text}
          disabled={isHidden}
          onInput={typed}
        />
      );
    default:
      return <LongText {...{ setting, text, edit, attributes }} />;
  }
}

const YES_NO: Readonly<Record<string, string>> = { true: say('page.set.yes'), false: say('page.set.no') };
