/** Colours of code: the library and each language are loaded when a block of it is first shown. */
import { h } from '../dom.ts';
import { say } from '../texts.ts';
import { messageOf } from '../failures/in-place.ts';

/** Longest code that is coloured, in UTF-16 units; longer code stays plain. */
export const MAX_COLOURED = 20_000;
/**
 * A growing block is redrawn with each chunk: it is coloured once it has stayed the same for this long, in
 * milliseconds.
 */
const SETTLED_AFTER_MS = 120;

/** The languages that are coloured, with the other names that people give them. */
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

type Language = keyof typeof LANGUAGES;

const GRAMMARS: Record<Language, () => Promise<{ default: unknown }>> = {
  bash: () => import('@highlightjs/cdn-assets/es/languages/bash.min.js'),
  cpp: () => import('@highlightjs/cdn-assets/es/languages/cpp.min.js'),
  css: () => import('@highlightjs/cdn-assets/es/languages/css.min.js'),
  diff: () => import('@highlightjs/cdn-assets/es/languages/diff.min.js'),
  dockerfile: () => import('@highlightjs/cdn-assets/es/languages/dockerfile.min.js'),
  go: () => import('@highlightjs/cdn-assets/es/languages/go.min.js'),
  ini: () => import('@highlightjs/cdn-assets/es/languages/ini.min.js'),
  java: () => import('@highlightjs/cdn-assets/es/languages/java.min.js'),
  json: () => import('@highlightjs/cdn-assets/es/languages/json.min.js'),
  markdown: () => import('@highlightjs/cdn-assets/es/languages/markdown.min.js'),
  python: () => import('@highlightjs/cdn-assets/es/languages/python.min.js'),
  rust: () => import('@highlightjs/cdn-assets/es/languages/rust.min.js'),
  sql: () => import('@highlightjs/cdn-assets/es/languages/sql.min.js'),
  typescript: () => import('@highlightjs/cdn-assets/es/languages/typescript.min.js'),
  xml: () => import('@highlightjs/cdn-assets/es/languages/xml.min.js'),
  yaml: () => import('@highlightjs/cdn-assets/es/languages/yaml.min.js'),
};

/**
 * The language that is served under a name, as it appears at the head of a block; undefined for one that is not.
 */
export function languageOf(name: string) {
  const alias = name.trim().toLowerCase();
  const names = Object.entries(LANGUAGES) as [Language, readonly string[]][];
  return names.find(([language, others]) => language === alias || others.includes(alias))?.[0];
}

type Highlighter = {
  highlight: (code: string, options: { language: string; ignoreIllegals: boolean }) => { value: string };
  registerLanguage: (name: string, grammar: unknown) => void;
  getLanguage: (name: string) => unknown;
};

async function highlighterFor(language: Language): Promise<Highlighter> {
  const core = import('@highlightjs/cdn-assets/es/core.min.js');
  const [{ default: loaded }, grammar] = await Promise.all([core, GRAMMARS[language]()]);
  const highlighter = loaded as Highlighter;
  if (highlighter.getLanguage(language) === undefined)
    highlighter.registerLanguage(language, grammar.default);
  return highlighter;
}

/**
 * Colours a block soon, if it is still shown by then; code of an unknown language, or too long, stays as it is.
 * @param code its only child is the text
 */
export function colourSoon(code: HTMLElement, name: string) {
  const language = languageOf(name);
  const text = code.textContent;
  if (language === undefined || text.length > MAX_COLOURED) return;
  setTimeout(() => {
    if (code.isConnected) void colour(code, language, text);
  }, SETTLED_AFTER_MS);
}

async function colour(code: HTMLElement, language: Language, text: string) {
  try {
    const highlighter = await highlighterFor(language);
    const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
    const parts = new DOMParser().parseFromString(value, 'text/html').body.childNodes;
    if (code.isConnected) code.replaceChildren(...[...parts].map(copyPart));
  } catch (error) {
    // The code can be read without colours.
    code.title = say('page.markdown.uncoloured', { why: messageOf(error) });
  }
}

/** A part with its class and its text, and nothing else of it. */
function copyPart(part: Node): Node | string {
  if (!(part instanceof HTMLElement)) return part.textContent ?? '';
  return h('span', { class: part.className }, ...[...part.childNodes].map(copyPart));
}
