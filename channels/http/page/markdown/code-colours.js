/** Colours of code: the library and each language are loaded when a block of it is first shown. */
import { h } from '../dom.js';

/** Longest code that is coloured, in UTF-16 units; longer code stays plain. */
export const MAX_COLOURED = 20_000;
/** A block that grows is drawn anew with each chunk: it is coloured once it has stayed for so long, in milliseconds. */
const SETTLED_AFTER_MS = 120;

/** The languages that are served, with the other names that people give them. */
export const LANGUAGES = Object.freeze({
  bash: ['sh', 'shell', 'zsh', 'console'],
  cpp: ['c', 'c++', 'cc', 'h', 'hpp'],
  css: ['scss', 'less'],
  diff: ['patch'],
  dockerfile: ['docker'],
  go: ['golang'],
  ini: ['toml', 'conf'],
  java: [],
  json: ['jsonc', 'json5'],
  markdown: ['md'],
  python: ['py', 'python3'],
  rust: ['rs'],
  sql: ['postgres', 'postgresql', 'mysql', 'sqlite'],
  typescript: ['ts', 'tsx', 'javascript', 'js', 'jsx', 'mjs', 'cjs', 'node'],
  xml: ['html', 'svg', 'xhtml'],
  yaml: ['yml'],
});

/**
 * The language that is served under a name, as it stands at the head of a block; undefined for one that is not.
 * @param {string} name
 */
export function languageOf(name) {
  const asked = name.trim().toLowerCase();
  const found = Object.entries(LANGUAGES).find(
    ([own, others]) => own === asked || others.some((one) => one === asked),
  );
  return found?.[0];
}

/** @typedef {{ highlight: (code: string, options: { language: string, ignoreIllegals: boolean }) => { value: string }, registerLanguage: (name: string, grammar: unknown) => void, getLanguage: (name: string) => unknown }} Highlighter */

/**
 * @param {string} file
 * @returns {Promise<{ default: unknown }>}
 */
function load(file) {
  return import(new URL(`/page/highlight/${file}.min.js`, location.href).href);
}

/**
 * @param {string} language
 * @returns {Promise<Highlighter>}
 */
async function highlighterFor(language) {
  const [core, grammar] = await Promise.all([load('core'), load(`languages/${language}`)]);
  const highlighter = /** @type {Highlighter} */ (core.default);
  if (highlighter.getLanguage(language) === undefined)
    highlighter.registerLanguage(language, grammar.default);
  return highlighter;
}

/**
 * Colours a block soon, if it is still shown by then; code of an unknown language, or too long, stays as it is.
 * @param {HTMLElement} code its only child is the text
 * @param {string} name
 */
export function colourSoon(code, name) {
  const language = languageOf(name);
  const text = code.textContent;
  if (language === undefined || text.length > MAX_COLOURED) return;
  setTimeout(() => {
    if (code.isConnected) void colour(code, language, text);
  }, SETTLED_AFTER_MS);
}

/**
 * @param {HTMLElement} code
 * @param {string} language
 * @param {string} text
 */
async function colour(code, language, text) {
  try {
    const highlighter = await highlighterFor(language);
    const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
    const parts = new DOMParser().parseFromString(value, 'text/html').body.childNodes;
    if (code.isConnected) code.replaceChildren(...[...parts].map(copyPart));
  } catch (error) {
    // The code can be read without colours.
    code.title = `Not coloured: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * A part with its class and its text, and nothing else of it.
 * @param {Node} part
 * @returns {Node | string}
 */
function copyPart(part) {
  if (!(part instanceof HTMLElement)) return part.textContent ?? '';
  return h('span', { class: part.className }, ...[...part.childNodes].map(copyPart));
}
