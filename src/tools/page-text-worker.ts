/** The worker behind `pageText`: finds the readable part of one page, posts it, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { z } from 'zod';
import type { PageText, WorkerMessage } from './web-fetch.ts';

/** Elements of a page that are examined; a page with more is read without looking for its article. */
const MAX_ELEMENTS = 20_000;
/** Longest text kept of one page, in UTF-16 units. */
const MAX_TEXT_CHARS = 400_000;

const SKIPPED = new Set('SCRIPT STYLE NOSCRIPT TEMPLATE SVG HEAD IFRAME OBJECT CANVAS'.split(' '));
const BLOCKS = new Set(
  'ADDRESS ARTICLE ASIDE BLOCKQUOTE BR DD DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION TABLE TR UL'.split(
    ' ',
  ),
);

const { html, url } = z.object({ html: z.string(), url: z.string() }).parse(workerData);
const post = (message: WorkerMessage): void => parentPort?.postMessage(message, []);
post('loaded');
post(readable(html, url));

function readable(source: string, base: string): PageText {
  const page = parse(source);
  const title = oneLine(page.querySelector('title')?.textContent ?? '');
  const article = articleOf(source);
  const text = article === undefined ? '' : textOf(article, base);
  return { title, text: text === '' ? textOf(page.documentElement, base) : text };
}

/** This parser takes the first element as the root: a page that leaves `<html>` out, as it may, gets one. */
function parse(source: string): Document {
  const whole = /<html[\s>]/i.test(source);
  return parseHTML(whole ? source : `<html><head></head><body>${source}</body></html>`).document;
}

/** The part of the page that is its article; Readability rewrites its document, so it gets its own copy. */
function articleOf(source: string): Element | undefined {
  const document = parse(source);
  if (document.querySelectorAll('*').length > MAX_ELEMENTS) return undefined;
  const article = new Readability<Node>(document, {
    serializer: (node) => node,
    disableJSONLD: true,
  }).parse();
  const node = article?.content;
  return node !== undefined && node !== null && isElement(node) ? node : undefined;
}

/** Paragraphs as lines, headings and items marked, links with targets. No recursion: the page chooses the depth. */
function textOf(root: Element, base: string): string {
  const parts: string[] = [];
  let length = 0;
  const stack: (Node | string)[] = [root];
  for (let next = stack.pop(); next !== undefined && length < MAX_TEXT_CHARS; next = stack.pop()) {
    if (typeof next === 'string') {
      parts.push(next);
      length += next.length;
    } else if (next.nodeType === 3) {
      const text = (next.nodeValue ?? '').replaceAll(/\s+/g, ' ');
      parts.push(text);
      length += text.length;
    } else if (isElement(next) && !SKIPPED.has(next.tagName.toUpperCase())) {
      const { before, after } = marksOf(next, base);
      stack.push(after);
      for (let child = next.lastChild; child !== null; child = child.previousSibling) stack.push(child);
      stack.push(before);
    }
  }
  return parts
    .join('')
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
    .slice(0, MAX_TEXT_CHARS);
}

function marksOf(element: Element, base: string): { before: string; after: string } {
  const tag = element.tagName.toUpperCase();
  const heading = /^H([1-6])$/.exec(tag);
  if (heading !== null) return { before: `\n\n${'#'.repeat(Number(heading[1]))} `, after: '\n\n' };
  if (tag === 'LI') return { before: '\n- ', after: '' };
  if (tag === 'TD' || tag === 'TH') return { before: '', after: ' | ' };
  if (tag === 'P') return { before: '\n\n', after: '\n\n' };
  if (tag === 'A') return { before: '', after: linkMark(element.getAttribute('href'), base) };
  return BLOCKS.has(tag) ? { before: '\n', after: '\n' } : { before: '', after: '' };
}

function linkMark(href: string | null, base: string): string {
  const target = href === null || href.startsWith('#') ? null : URL.parse(href, base);
  if (target === null || !/^https?:$/.test(target.protocol) || target.href.length > 300) return '';
  return ` (${target.href})`;
}

function isElement(node: Node): node is Element {
  return node.nodeType === 1;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 300);
}
