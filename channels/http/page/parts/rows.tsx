/** Lists of things: what each is, more about it, and what can be done with it. */
import type { ComponentChildren, JSX } from 'preact';
import { dayAndClock } from '../texts.ts';
import { Time } from './time.tsx';

/** Rows; or, without any, what would be here. */
export function Rows({
  label,
  children,
  empty,
}: {
  label?: string;
  children: ComponentChildren[];
  empty: ComponentChildren;
}): JSX.Element {
  return children.length === 0 ? (
    <p class="settings-empty">{empty}</p>
  ) : (
    <ul class="settings-rows" aria-label={label}>
      {children}
    </ul>
  );
}

/** How well something works; `off` is no fault. */
export type Mood = 'ok' | 'busy' | 'warning' | 'error' | 'off';

/** A row: what it is about, more about it, and what can be done with it. */
export function Row(props: {
  title: string;
  mood?: Mood;
  about: ComponentChildren;
  more?: ComponentChildren;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <li class="settings-row">
      <span class={`settings-row-title${props.mood === undefined ? '' : ` dot ${props.mood}`}`} dir="auto">
        {props.title}
      </span>
      <span class="quiet settings-row-about" dir="auto">
        {props.about}
      </span>
      <span class="settings-row-buttons">{props.children}</span>
      {props.more}
    </li>
  );
}

/** A button; `of` is what it acts on, for people who hear the page, unless `name` says all of that. */
export function Act(props: {
  label: string;
  of?: string;
  name?: string;
  press: () => void;
  danger?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class={props.danger ? 'danger' : undefined}
      aria-label={props.name ?? `${props.label}: ${props.of}`}
      onClick={props.press}
    >
      {props.label}
    </button>
  );
}

/** A moment with day and time; a dash without one. */
export function Moment({
  at,
  as = dayAndClock,
}: {
  at: string | number | null | undefined;
  as?: typeof dayAndClock;
}): JSX.Element {
  return at === null || at === undefined ? <>–</> : <Time at={at} format={as} />;
}
