/**
 * The arguments of a call as a person reads them: a command as code, a file with its path and what changes in it, anything else
 * by its name. Nothing is left out: what is approved can be read whole.
 */
import { h } from '../../dom.ts';
import { say } from '../../texts.ts';
import { lineDiff } from './line-diff.js';

/** @typedef {import('../../api.ts').Approval} Approval */

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

/**
 * The arguments, each with its name.
 * @param {Pick<Approval, 'args' | 'files'>} approval
 */
export function callArguments({ args, files }) {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return [block(displayText(args))];
  const entries = Object.entries(args);
  const change = changeOf(new Map(entries), files);
  const parts = entries
    .filter(([name]) => change === undefined || !change.names.includes(name))
    .map(([name, value]) => named(name, value));
  return change === undefined ? parts : [...parts, label(say('page.approval.change')), change.element];
}

/**
 * What the call changes in a file, where its arguments say that.
 * @param {Map<string, unknown>} args
 * @param {Approval['files']} files
 */
function changeOf(args, files) {
  const [before, after, content] = ['old_text', 'new_text', 'content'].map((name) => args.get(name));
  if (typeof before === 'string' && typeof after === 'string')
    return { names: ['old_text', 'new_text'], element: diff(before, after) };
  const file = files.find(({ path }) => path === args.get('path'));
  if (typeof content !== 'string' || file === undefined || !('text' in file) || file.text === undefined)
    return undefined;
  return { names: ['content'], element: diff(file.text, content) };
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function named(name, value) {
  const text = name === 'argv' && isWords(value) ? value.map(shellWord).join(' ') : displayText(value);
  const isShort = text.length <= MAX_IN_LINE && !text.includes('\n');
  const isCommand = name === 'command' || name === 'argv';
  const title = LABELS.get(name) ?? visible(name);
  if (isShort && !isCommand)
    return h(
      'p',
      { class: 'argument' },
      h('span', { class: 'argument-name' }, title),
      ' ',
      h('code', {}, visible(text)),
    );
  return h('div', { class: 'argument' }, label(title), block(text, isCommand ? 'command' : ''));
}

/** @param {string} text */
function label(text) {
  return h('p', { class: 'argument-name' }, text);
}

/**
 * A text on its own lines; a long one is folded.
 * @param {string} text
 * @param {string} [look]
 */
function block(text, look = '') {
  const content = visible(text);
  const lines = content.split('\n');
  return folded(
    (isAll) => [isAll ? content : lines.slice(0, MAX_SHOWN_LINES).join('\n').slice(0, MAX_SHOWN_CHARS)],
    content.length > MAX_SHOWN_CHARS || lines.length > MAX_SHOWN_LINES,
    look,
  );
}

/**
 * @param {string} before
 * @param {string} after
 */
function diff(before, after) {
  const lines = lineDiff(before, after);
  const chars = lines.reduce((sum, { text }) => sum + text.length, 0);
  return folded(
    (isAll) => (isAll ? lines : lines.slice(0, MAX_SHOWN_LINES)).map((line) => diffLine(line, isAll)),
    chars > MAX_SHOWN_CHARS || lines.length > MAX_SHOWN_LINES,
    'change',
  );
}

/**
 * @param {import('./line-diff.js').DiffLine} line
 * @param {boolean} isAll
 */
function diffLine({ kind, text }, isAll) {
  const shownText = visible(isAll ? text : text.slice(0, MAX_SHOWN_CHARS / MAX_SHOWN_LINES));
  if (kind === 'same') return h('span', {}, `  ${shownText}\n`);
  return kind === 'removed' ? h('del', {}, `- ${shownText}\n`) : h('ins', {}, `+ ${shownText}\n`);
}

/**
 * @param {(isAll: boolean) => (Node | string)[]} draw
 * @param {boolean} isLong
 * @param {string} look
 */
function folded(draw, isLong, look) {
  const place = h('pre', { tabindex: '0', class: look, dir: 'auto' }, ...draw(!isLong));
  if (!isLong) return place;
  const button = h('button', { type: 'button', class: 'text-button' }, say('page.long.all'));
  button.addEventListener('click', () => {
    place.replaceChildren(...draw(true));
    button.remove();
    place.focus();
  });
  return h('div', { class: 'folded-argument' }, place, button);
}

/** @param {unknown} value */
function displayText(value) {
  return typeof value === 'string' && value !== '' ? value : (JSON.stringify(value, null, 2) ?? '');
}

/**
 * @param {unknown} value
 * @returns {value is string[]}
 */
function isWords(value) {
  return Array.isArray(value) && value.every((word) => typeof word === 'string');
}

/**
 * A word written so that a shell reads it as one.
 * @param {string} word
 */
function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The text with invisible and direction-changing characters as numbers: what is read is what runs.
 * @param {string} text
 */
export function visible(text) {
  return text.replaceAll(
    /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
