/** Files of the page that contain texts: places such as `{{page.close}}` hold texts in the reader's language. Pure. */
import { inEnglish, type PlainKey, type Say } from '../../../src/contracts/texts/say.ts';
import { ENGLISH } from '../../../src/contracts/texts/english.ts';
import { PARLEY } from '../../../src/contracts/texts/parley.ts';

/** A place for a text, or for a value with this name. */
const PLACE = /\{\{([a-z_.]+)\}\}/g;

/** The form of a file, which says how a text is written in it. */
type Form = 'html' | 'json';

/**
 * Fills the places of a file: with a text by its key, else with one of the `values`. Throws `TypeError` for a place that
 * neither knows: the installation is broken then.
 */
export function fillTemplate(
  template: string,
  form: Form,
  say: Say,
  values: Readonly<Record<string, string>>,
): string {
  return template.replaceAll(PLACE, (_, name: string) => {
    const text = values[name] ?? (isPlain(name) ? say(name) : undefined);
    if (text === undefined) throw new TypeError(`the page has a place for "${name}", which is no text`);
    return form === 'html' ? toHtml(text) : JSON.stringify(text).slice(1, -1);
  });
}

function isPlain(key: string): key is PlainKey {
  return key in ENGLISH;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A text as HTML; what is between backticks is code. */
function toHtml(text: string): string {
  return text
    .replaceAll(/[&<>"]/g, (char) => ENTITIES[char] ?? char)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** Keys of texts that the page's scripts use, by their area. */
const AREAS = /^(page|link|cancelled|step|failure|time|problem)\./;
/** Keys of the texts for errors, by their code. */
const REFUSALS = /^page\.error\./;

/** The statement that gives the page's texts in one language to the scripts after it. */
export function textsScript(say: Say): string {
  const keys = (table: object): [string, unknown][] =>
    Object.entries(table).filter(([key]) => AREAS.test(key));
  // In English the page shows the errors' own messages, which are the most specific.
  const own = keys(say.table).filter(([key]) => say.language !== 'en' || !REFUSALS.test(key));
  const included = new Set(own.map(([key]) => key));
  const texts = {
    language: say.language,
    parley: PARLEY,
    table: Object.fromEntries(own),
    english: Object.fromEntries(
      keys(inEnglish.table).filter(([key]) => !included.has(key) && !REFUSALS.test(key)),
    ),
  };
  return `globalThis.parleyTexts=${JSON.stringify(texts)};\n`;
}
