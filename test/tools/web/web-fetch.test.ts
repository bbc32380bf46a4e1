/** `web_fetch` against real servers: what is readable, what is marked, and what hostile pages cost. */
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ToolError } from '../../../src/protocol/errors.ts';
import { createEgress } from '../../../src/security/index.ts';
import { createDocumentText, createReader } from '../../../src/media/reader/reader.ts';
import {
  createWebFetch,
  MAX_HELD_PAGES,
  MAX_PART_CHARS,
  MAX_TEXT_CHARS,
} from '../../../src/tools/web-fetch.ts';
import { docx, pdf, png } from '../../fakes/files/documents.ts';
import type { Tool, ToolResult } from '../../../src/protocol/agent/tool.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

interface Page {
  type?: string;
  status?: number;
  location?: string;
  body: string | Uint8Array;
}

const documentText = createDocumentText(createReader(), () => performance.now());
let server: Server;
let origin = '';
let tool: Tool;
/** Requests that the server has seen. */
let requests = 0;
const pages = new Map<string, Page>();

beforeAll(async () => {
  server = createServer((request, response) => {
    requests += 1;
    const page = pages.get(request.url ?? '') ?? { status: 404, type: 'text/plain', body: 'no such page' };
    if (page.location !== undefined) response.setHeader('location', page.location);
    if (page.type !== '') response.setHeader('content-type', page.type ?? 'text/html; charset=utf-8');
    response.writeHead(page.status ?? 200).end(page.body);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  origin = `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
  tool = createWebFetch(createEgress({ allow: [origin] }), documentText);
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
});

async function read(page: Page, args: Record<string, unknown> = {}): Promise<ToolResult> {
  pages.set('/page', page);
  return await tool.execute(tool.parameters.parse({ url: `${origin}/page`, ...args }), toolContext());
}

/** The text of the page, without the gateway's note about it. */
function inside({ content }: ToolResult): string {
  return content
    .replace(/^The server answered [^\n]*\n/, '')
    .replace(/\n\(\d+ of \d+ characters[^)]*\)$/, '');
}

const PARAGRAPH =
  'The harbour master writes the height of the tide into the book every morning, and nobody asks why. ';

it('finds the article of a page and leaves out menus, scripts and styles (B-22)', async () => {
  const body = `<html><head><title>Tides &amp; books</title><style>p{color:red}</style></head><body>
    <nav><a href="/home">Home</a><a href="/imprint">Imprint</a></nav><script>steal('canary')</script>
    <article><h2>The book</h2><p>${PARAGRAPH.repeat(3)}</p><ul><li>first</li><li>second</li></ul>
    <p>${PARAGRAPH.repeat(3)} See <a href="/tables">the tables</a>.</p></article><footer>Imprint</footer></body></html>`;
  const text = inside(await read({ body }));
  expect(text).toMatch(/^# Tides & books\n\n/);
  expect(text).toContain('## The book');
  expect(text).toContain('- first\n- second');
  expect(text).toContain(`the tables (${origin}/tables)`);
  for (const noise of ['canary', 'color:red', 'Home', 'Imprint']) expect(text).not.toContain(noise);
});

it('reads a page without an article in full, and plain text as it is', async () => {
  expect(inside(await read({ body: '<p>short</p><p>page' }))).toBe('short\n\npage');
  expect(inside(await read({ type: 'text/plain', body: 'a < b\n<p>' }))).toBe('a < b\n<p>');
  expect(inside(await read({ type: 'application/json', body: '{"a":1}' }))).toBe('{"a":1}');
  expect(inside(await read({ type: 'image/png', body: 'PNG' }))).toBe('(image/png, 3 bytes: not shown)');
});

it('reads the charset of the header or of the page', async () => {
  const cyrillic = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]);
  expect(inside(await read({ type: 'text/plain; charset=windows-1251', body: cyrillic }))).toBe('Привет');
  const inPage = Buffer.concat([Buffer.from('<meta charset="windows-1251"><p>'), cyrillic]);
  expect(inside(await read({ type: 'text/html', body: inPage }))).toBe('Привет');
  expect(inside(await read({ type: 'text/plain; charset=nonsense', body: 'plain' }))).toBe('plain');
});

it('reads documents by their content, in parts, whatever the server calls them', async () => {
  const twoPages = pdf(['High water at six', 'Low water at noon']);
  for (const type of ['application/pdf', 'application/octet-stream', 'text/html', '']) {
    const { content, from } = await read({ type, body: twoPages });
    expect(content).toBe('[page 1 of 2]\nHigh water at six\n\n[page 2 of 2]\nLow water at noon');
    expect(from).toBe(`${origin}/page`);
  }
  expect(inside(await read({ type: 'application/zip', body: docx(['One', 'Two']) }))).toBe('One\n\nTwo');
  const report = { type: 'application/pdf', body: pdf(Array(300).fill('x'.repeat(60))) };
  pages.set('/report', report);
  const long = await read(report, { url: `${origin}/report` });
  expect(long.content).toContain(`continue with "offset": ${MAX_PART_CHARS}`);
});

it('recognizes an untyped page, JSON and text by content', async () => {
  expect(
    inside(
      await read({ type: '', body: '\n<!doctype html><html><head><title>T</title></head><body><p>short' }),
    ),
  ).toBe('# T\n\nshort');
  expect(inside(await read({ type: 'application/octet-stream', body: '{"a": 1}' }))).toBe('{"a": 1}');
  expect(inside(await read({ type: 'application/geo+json', body: '{}' }))).toBe('{}');
});

it('says why a document is not shown, as web text', async () => {
  const broken = await read({ type: 'application/pdf', body: '%PDF-1.7 and nothing of one' });
  expect(broken.content).toMatch(/^\(application\/pdf, 27 bytes: not shown, because .*cannot be read/);
  const picture = await read({ type: 'image/png', body: await png(4, 4) });
  expect(picture.content).toMatch(/^\(image\/png, \d+ bytes: not shown\)/);
  const archive = await read({
    type: 'application/zip',
    body: Buffer.from('PK\u0003\u0004nothing', 'latin1'),
  });
  expect(archive.content).toMatch(/not shown, because it (is|cannot) /);
  expect(broken.source).toBeUndefined();
});

it(`keeps ${MAX_TEXT_CHARS} characters of a text, and says so at its end`, async () => {
  const end = async (length: number): Promise<string> => {
    const url = `${origin}/long`;
    pages.set('/long', { type: 'text/plain', body: 'x'.repeat(length) });
    await read({ body: '' }, { url });
    return (await read({ body: '' }, { url, offset: MAX_TEXT_CHARS - 5 })).content;
  };
  expect(await end(MAX_TEXT_CHARS)).toBe('xxxxx');
  expect(await end(MAX_TEXT_CHARS + 1)).toBe(`xxxxx\n(only the first ${MAX_TEXT_CHARS} characters are read)`);
});

it('names the final address of the page, after redirects', async () => {
  pages.set('/other', { type: 'text/plain', body: 'moved' });
  expect(await read({ status: 302, location: `${origin}/other`, body: '' })).toMatchObject({
    content: 'moved',
    from: `${origin}/other`,
  });
});

it('returns a long page in parts, and requests it once', async () => {
  const body = 'x'.repeat(MAX_PART_CHARS) + 'end';
  await expect(read({ body }, { offset: MAX_PART_CHARS })).rejects.toMatchObject({ code: 'not_held' });
  const before = requests;
  const first = await read({ type: 'text/plain', body });
  expect(inside(first)).toHaveLength(MAX_PART_CHARS);
  expect(first.content).toContain(`continue with "offset": ${MAX_PART_CHARS}`);
  expect(inside(await read({ type: 'text/plain', body }, { offset: MAX_PART_CHARS }))).toBe('end');
  expect((await read({ type: 'text/plain', body }, { offset: 99_999 })).content).toContain(
    'ends at character',
  );
  expect(requests).toBe(before + 1);
  expect((await read({ body: '' })).content).toContain('empty page');
});

it(`holds ${MAX_HELD_PAGES} pages for their remaining parts, and reports when one is gone`, async () => {
  const next = (n: number) =>
    read({ type: 'text/plain', body: '' }, { url: `${origin}/${n}`, offset: 12_000 });
  for (let n = 0; n <= MAX_HELD_PAGES; n += 1) {
    pages.set(`/${n}`, { type: 'text/plain', body: `${'x'.repeat(MAX_PART_CHARS)}end ${n}` });
    await read({ body: '' }, { url: `${origin}/${n}` });
  }
  await expect(next(0)).rejects.toMatchObject({ code: 'not_held' });
  expect((await next(1)).content).toBe('end 1');
});

it('reports the status of a missing page', async () => {
  const missing = await read({ status: 404, type: 'text/plain', body: 'gone' });
  expect(missing.isError).toBe(true);
  expect(missing.content).toContain('status 404');
  expect(inside(missing)).toBe('gone');
});

it('follows no page to cloud metadata or to this machine (B-22)', async () => {
  const away = (location: string): Promise<ToolResult> => read({ status: 302, location, body: '' });
  await expect(away('http://169.254.169.254/latest/meta-data/')).rejects.toMatchObject({
    code: 'refused_address',
  });
  await expect(away('http://[::ffff:127.0.0.1]/')).rejects.toMatchObject({ code: 'refused_address' });
  const strict = createWebFetch(createEgress(), documentText);
  const direct = strict.execute({ url: `${origin}/page`, offset: 0 }, toolContext());
  await expect(direct).rejects.toMatchObject({ code: 'refused_address' });
});

it.each([
  { what: 'two megabytes of open <div>', body: '<div>'.repeat(400_000) },
  { what: 'a table in a table in a table', body: '<table><tr><td>'.repeat(100_000) },
  { what: 'formatting without end', body: '<b><i><a href=x>'.repeat(100_000) },
  { what: 'a tag of a megabyte', body: `<p ${'a=b '.repeat(300_000)}>` },
])('finishes with a page designed to be slow: $what', async ({ body }) => {
  const before = process.memoryUsage.rss();
  const began = performance.now();
  const ended = await read({ body }).then(
    () => 'read',
    (error: unknown) => (error instanceof ToolError ? error.code : error),
  );
  expect(['read', 'unreadable_page']).toContain(ended);
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024);
  expect(inside(await read({ body: '<p>still here</p>' }))).toBe('still here');
});

it('stops reading a page when the turn is stopped', async () => {
  pages.set('/page', { body: '<div>'.repeat(400_000) });
  const stop = new AbortController();
  const tool = createWebFetch(createEgress({ allow: [origin] }), documentText);
  const running = tool.execute({ url: `${origin}/page`, offset: 0 }, toolContext({ signal: stop.signal }));
  stop.abort();
  await expect(running).rejects.toMatchObject({ code: 'aborted' });
});
