/** Fields of the configuration's form: one for each value that the schema of the file has. */
import { h } from '../dom.ts';
import { descriptionOf } from './config-descriptions.js';
import { choice } from './parts.js';
import { say } from '../texts.ts';

/** @typedef {import('./config-descriptions.js').Schema} Schema */

/**
 * @typedef {{ path: string[], value?: unknown }} Change
 * @typedef {{ path: string[], element: HTMLElement, change: () => Change[] }} Field
 */

/** Stands for a text that may be a secret. */
const SET_SECRET = '(set)';

/**
 * The fields of a part of the file; `change` returns what was edited, and throws `SyntaxError` for a text that is not
 * JSON.
 * @param {Schema} schema
 * @param {string[]} path
 * @param {unknown} writtenValue what the file says
 * @param {unknown} value what is in effect
 * @returns {Field[]}
 */
export function fieldsOf(schema, path, writtenValue, value) {
  if (schema.type === 'object' && schema.properties !== undefined) {
    return Object.entries(schema.properties).flatMap(([name, inner]) =>
      fieldsOf(inner, [...path, name], childOf(writtenValue, name), childOf(value, name)),
    );
  }
  return [fieldOf(schema, path, writtenValue, value)];
}

/**
 * @param {unknown} parent
 * @param {string} name
 */
function childOf(parent, name) {
  if (typeof parent !== 'object' || parent === null) return undefined;
  return Object.getOwnPropertyDescriptor(parent, name)?.value;
}

/**
 * @param {Schema} schema
 * @param {string[]} path
 * @param {unknown} writtenValue
 * @param {unknown} value
 * @returns {Field}
 */
function fieldOf(schema, path, writtenValue, value) {
  const control = controlOf(schema, value);
  const before = control.read();
  const reset = h('input', { type: 'checkbox' });
  const name = path.join('.');
  const element = h(
    'div',
    { class: 'config-field' },
    h('label', {}, h('span', {}, name), control.element),
    ...descriptionOf(schema),
    ...(writtenValue === undefined
      ? []
      : [
          h(
            'label',
            { class: 'check' },
            reset,
            h('span', { class: 'visually-hidden' }, `${name}: `),
            ` ${say('page.set.default')}`,
          ),
        ]),
  );
  const change = () => {
    if (reset.checked) return [{ path }];
    const after = control.read();
    if (after === before) return [];
    return after === '' ? [{ path }] : [{ path, value: control.parse(after) }];
  };
  return { path, element, change };
}

/**
 * @typedef {{ element: HTMLElement, read: () => string, parse: (text: string) => unknown }} Control
 */

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @returns {Control}
 */
function controlOf(schema, value) {
  if (schema.enum !== undefined) {
    const options = schema.enum.map(String);
    const select = choice(
      Object.fromEntries(['', ...options].map((one) => [one, one || say('page.set.not_chosen')])),
      textOf(value),
    );
    return {
      element: select,
      read: () => select.value,
      parse: (text) => schema.enum?.find((one) => String(one) === text),
    };
  }
  if (schema.type === 'boolean') {
    const select = choice(
      { '': say('page.set.not_chosen'), true: say('page.set.yes'), false: say('page.set.no') },
      textOf(value),
    );
    return { element: select, read: () => select.value, parse: (text) => text === 'true' };
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const input = h('input', { type: 'number', step: 'any', value: textOf(value) });
    return { element: input, read: () => input.value, parse: Number };
  }
  if (schema.type === 'string') {
    const input = h('input', {
      type: 'text',
      value: textOf(value),
      autocomplete: 'off',
      disabled: value === SET_SECRET,
    });
    return { element: input, read: () => input.value, parse: (text) => text };
  }
  const isList =
    schema.type === 'array' && Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (isList && takesText(schema.items)) {
    const textarea = h('textarea', { rows: 3, placeholder: say('page.set.one_a_line') }, value.join('\n'));
    const parse = (/** @type {string} */ text) =>
      text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
    return { element: textarea, read: () => textarea.value, parse };
  }
  const text = value === undefined ? '' : JSON.stringify(value, undefined, 2);
  const hasSecret = text.includes(`"${SET_SECRET}"`);
  const textarea = h(
    'textarea',
    { rows: Math.min(12, text.split('\n').length), class: 'code', spellcheck: 'false', disabled: hasSecret },
    text,
  );
  return { element: textarea, read: () => textarea.value, parse: (typed) => JSON.parse(typed) };
}

/** @param {unknown} value */
function textOf(value) {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}

/** @param {Schema | undefined} items */
function takesText(items) {
  return items?.type === 'string' || items?.anyOf?.some(({ type }) => type === 'string') === true;
}
