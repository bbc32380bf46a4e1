/** Colours of code: the library and each language are loaded when a block of it is first shown. */
import type { ComponentChildren } from 'preact';

/** Longest code that is coloured, in UTF-16 units; longer code stays plain. */
export const MAX_COLOURED = 20_000;
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

/** A code in its colours; undefined for an unknown language, and for what is too long. Rejects if a script cannot be loaded. */
export async function coloured(text: string, name: string): Promise<ComponentChildren> {
  const language = languageOf(name);
  if (language === undefined || text.length > MAX_COLOURED) return undefined;
  const highlighter = await highlighterFor(language);
  const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
  return [...new DOMParser().parseFromString(value, 'text/html').body.childNodes].map(copyPart);
}

/** A part with its class and its text, and nothing else of it. */
function copyPart(part: Node): ComponentChildren {
  if (!(part instanceof HTMLElement)) return part.textContent ?? '';
  return <span class={part.className}>{[...part.childNodes].map(copyPart)}</span>;
}
