/**
 * Draws formulas as MathML, which browsers lay out themselves. The library that reads LaTeX is loaded with the first
 * formula; until then, and for what it cannot read, the source is shown as code.
 */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { messageOf } from '../failures/in-place.ts';
import { say } from '../texts.ts';
import type { typeset } from './typeset.ts';

/** A formula in a line that is longer than this may be wider than a phone: it scrolls there. */
const LONG = 40;

/** What reads LaTeX, once it is there. */
const reader = signal<{ typeset: typeof typeset } | undefined>(undefined);
const problem = signal<string | undefined>(undefined);
let loading: Promise<void> | undefined;

async function load(): Promise<void> {
  try {
    reader.value = await import('./typeset.ts');
    problem.value = undefined;
  } catch (error) {
    loading = undefined;
    problem.value = say('page.markdown.not_typeset', { why: messageOf(error) });
  }
}

interface FormulaProps {
  source: string;
  /** With its delimiters: a selection with the formula is copied with it. */
  written: string;
  isDisplayed: boolean;
}

export function Formula({ source, written, isDisplayed }: FormulaProps): JSX.Element {
  const place = useRef<HTMLSpanElement>(null);
  const { value: loaded } = reader;
  const math = useMemo(() => loaded?.typeset(source, isDisplayed), [loaded, source, isDisplayed]);
  useEffect(() => void (loading ??= load()), []);
  // The library makes elements.
  useLayoutEffect(() => {
    if (math !== undefined) place.current?.append(math);
    return () => math?.remove();
  }, [math]);
  const look = isDisplayed ? ' displayed' : source.length > LONG ? ' long' : '';
  return (
    <span ref={place} class={`formula${look}`} dir="ltr" data-written={written} title={problem}>
      {math === undefined && <code>{source}</code>}
    </span>
  );
}
