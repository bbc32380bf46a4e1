/** What the screens of the settings are made of: the answers they read, sections, rows, forms, tables. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../failures/in-place.ts';
import { showError } from '../failures/show-error.ts';
import { ask } from '../requests.ts';
import { say } from '../texts.ts';

/** An answer of the API: undefined until it is there. */
export interface Answer<Body> {
  body: Body | undefined;
  /** Why it could not be read; the last answer stays. */
  problem: string | undefined;
  reload: () => Promise<void>;
  /** Does something, then reads again; an error is shown at the edge of the page. */
  act: (work: () => Promise<unknown>) => void;
}

/** Reads a path when the screen opens and when the path changes; every `everyMs` if given. */
export function useAnswer<Body>(path: string, everyMs?: number): Answer<Body> {
  const [state, setState] = useState<Pick<Answer<Body>, 'body' | 'problem'>>({
    body: undefined,
    problem: undefined,
  });
  const newest = useRef(0);
  /** The pause as it is now: effects follow a change later. */
  const pause = useRef(everyMs);
  pause.current = everyMs;
  const reload = async (): Promise<void> => {
    const nth = (newest.current += 1);
    try {
      const body = await ask<Body>('GET', path);
      if (nth === newest.current) setState({ body, problem: undefined });
    } catch (error) {
      if (nth === newest.current) setState(({ body }) => ({ body, problem: messageOf(error) }));
    }
  };
  useEffect(() => {
    void reload();
    return () => {
      newest.current += 1;
    };
  }, [path]);
  // Of its own: who pauses a screen wants nothing more, not one more answer.
  useEffect(() => {
    const look = () => document.hidden || pause.current === undefined || void reload();
    const timer = everyMs && setInterval(look, everyMs);
    return () => clearInterval(timer);
  }, [path, everyMs]);
  const act = (work: () => Promise<unknown>): void =>
    void work()
      .catch(showError)
      .then(() => reload());
  return { ...state, reload, act };
}

/** In place of an answer that is not there yet. */
export function Loading({ of: { problem, reload } }: { of: Answer<unknown> }): JSX.Element {
  if (problem === undefined) return <p class="quiet settings-loading">{say('page.set.loading')}</p>;
  return (
    <div class="settings-section" role="alert">
      <p class="error-text">{problem}</p>
      <button type="button" onClick={() => void reload()}>
        {say('page.set.try_again')}
      </button>
    </div>
  );
}

/** A part of a screen under a title, with a sentence about it. */
export function Section(props: {
  title: string;
  about?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="settings-section">
      <h2>{props.title}</h2>
      {props.about && <p class="quiet">{props.about}</p>}
      {props.children}
    </section>
  );
}

/** The way from one thing to the list that has it. */
export function Back({ href, to }: { href: string; to: string }): JSX.Element {
  return (
    <p>
      <a class="text-button" href={href}>
        ‹ {to}
      </a>
    </p>
  );
}

/** A control under its label; `code` is its name in files, if it has one. */
export function Field(props: { label: string; code?: string; children: ComponentChildren }): JSX.Element {
  return (
    <label class="settings-field">
      <span>{props.label}</span>
      {props.children}
      {props.code !== undefined && <code class="quiet">{props.code}</code>}
    </label>
  );
}

/** A list to choose from; labels by value. */
export function Choice(props: {
  name?: string;
  options: Readonly<Record<string, string>>;
  value?: string;
  change?: (value: string) => void;
  attributes?: Readonly<Record<string, string | true | undefined>>;
}): JSX.Element {
  return (
    <select
      {...props.attributes}
      name={props.name}
      value={props.value}
      onChange={({ currentTarget }) => props.change?.(currentTarget.value)}
    >
      {Object.entries(props.options).map(([value, label]) => (
        <option key={value} value={value} selected={value === props.value}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** One of a few, side by side. */
export function Chips(props: {
  label: string;
  options: Readonly<Record<string, string>>;
  value: string;
  change: (value: string) => void;
}): JSX.Element {
  return (
    <div class="chips" role="group" aria-label={props.label}>
      {Object.entries(props.options).map(([value, label]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.change(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/**
 * A form whose button does the work with what its named controls hold. It is emptied when that succeeds; otherwise it says
 * why, and what was typed stays.
 */
export function Form(props: {
  label: string;
  submit: (read: (name: string) => string, data: FormData) => Promise<unknown>;
  children: ComponentChildren;
}): JSX.Element {
  const [problem, setProblem] = useState('');
  const submit = async (element: HTMLFormElement): Promise<void> => {
    setProblem('');
    const data = new FormData(element);
    try {
      await props.submit((name) => textOf(data.get(name)), data);
      element.reset();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <form
      class="settings-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      {props.children}
      <button type="submit" class="primary">
        {props.label}
      </button>
      <p class="error-text" role="alert">
        {problem}
      </p>
    </form>
  );
}

function textOf(entry: FormDataEntryValue | null): string {
  return typeof entry === 'string' ? entry.trim() : '';
}

/** A table that can be scrolled sideways. */
export function Table(props: { caption: string; heads: string[]; rows: ComponentChildren[][] }): JSX.Element {
  return (
    <div class="settings-table" tabIndex={0} role="region" aria-label={props.caption}>
      <table>
        <thead>
          <tr>
            {props.heads.map((head, nth) => (
              <th key={nth} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((cells, nth) => (
            <tr key={nth}>
              {cells.map((cell, at) => (
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
