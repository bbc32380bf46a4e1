/** The files of the page, read once and served from memory, so that no request can reach another file. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { LANGUAGES } from './page/markdown/code-colours.js';
import type { HttpContext } from './route.ts';
import { HttpError } from './errors.ts';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Only this server's files may run, load or be called, and no site may frame the page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  'media-src blob:',
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'none'",
].join('; ');

const PAGE_FOLDER = new URL('page/', import.meta.url);

/**
 * Files besides the page's own that its modules import, by their path from the top of the repository. A relative import
 * that leads out of the page names the same file here and over HTTP, because `..` in a URL ends at the root.
 */
const SHARED_FILES = ['src/contracts/isomorphic/plan-reducer.js'];
const REPOSITORY = new URL('../../', import.meta.url);

/** The library that colours code, and the languages that the page knows (`markdown/code-colours.js`). */
const HIGHLIGHT = '@highlightjs/cdn-assets/es';
const HIGHLIGHT_FILES = ['core', ...Object.keys(LANGUAGES).map((name) => `languages/${name}`)];

interface PageFile {
  body: Buffer<ArrayBuffer>;
  headers: Record<string, string>;
}

/** All files by their URL's path: `/page/main.js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** Reads the page, the shared files and the colours of code. Throws file system errors: without these files the installation is broken. */
export async function readPageFiles(): Promise<PageFiles> {
  const entries = await readdir(PAGE_FOLDER, { recursive: true });
  const own = entries
    .filter((name) => path.extname(name) in TYPES)
    .map((name) => name.replaceAll(path.sep, '/'))
    .map((name): [string, URL] => [`/page/${name}`, new URL(name, PAGE_FOLDER)]);
  const shared = SHARED_FILES.map((name): [string, URL] => [`/${name}`, new URL(name, REPOSITORY)]);
  const colours = HIGHLIGHT_FILES.map((name): [string, URL] => [
    `/page/highlight/${name}.min.js`,
    new URL(import.meta.resolve(`${HIGHLIGHT}/${name}.min.js`)),
  ]);
  const files = [...own, ...shared, ...colours].map(async ([urlPath, file]): Promise<[string, PageFile]> => [
    urlPath,
    toPageFile(file.pathname, await readFile(file)),
  ]);
  return new Map(await Promise.all(files));
}

function toPageFile(name: string, body: Buffer<ArrayBuffer>): PageFile {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  const headers = {
    'content-type': TYPES[path.extname(name)] ?? '',
    etag,
    'cache-control': 'no-cache',
    'content-security-policy': CONTENT_SECURITY_POLICY,
  };
  return { body, headers };
}

/** Answers with a file, or 304 when the browser has it. Throws `HttpError` 404. */
export function servePageFile(c: HttpContext, files: PageFiles, urlPath: string): Response {
  const file = files.get(urlPath);
  if (file === undefined) throw new HttpError(404, 'not_found', 'This file does not exist.');
  if (c.req.header('if-none-match') === file.headers['etag']) return c.body(null, 304, file.headers);
  return c.body(file.body, 200, file.headers);
}
