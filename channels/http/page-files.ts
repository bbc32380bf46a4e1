/** The page's files, read once and served from memory: nothing a request says can name another file. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { HttpContext } from './http-api.ts';
import { HttpFault } from './errors.ts';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Only what this server itself serves may run, load or be called, and nobody may frame the page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'none'",
].join('; ');

interface PageFile {
  body: Buffer<ArrayBuffer>;
  headers: Record<string, string>;
}

/** The page's files by their path below the page's folder, with forward slashes. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** Reads the folder and those below it. Throws what the file system throws: without its files the program is not whole. */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  const entries = await readdir(folder, { recursive: true });
  const names = entries.filter((name) => path.extname(name) in TYPES);
  const files = names.map(async (name): Promise<[string, PageFile]> => {
    const body = await readFile(path.join(folder, name));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const headers = { 'content-type': TYPES[path.extname(name)] ?? '', etag, 'cache-control': 'no-cache' };
    return [
      name.replaceAll(path.sep, '/'),
      { body, headers: { ...headers, 'content-security-policy': CONTENT_SECURITY_POLICY } },
    ];
  });
  return new Map(await Promise.all(files));
}

/** Answers with a file, or 304 when the browser has it. Throws `HttpFault` 404. */
export function servePageFile(c: HttpContext, files: PageFiles, name: string): Response {
  const file = files.get(name);
  if (file === undefined) throw new HttpFault(404, 'not_found', 'There is no such file.');
  if (c.req.header('if-none-match') === file.headers['etag']) return c.body(null, 304, file.headers);
  return c.body(file.body, 200, file.headers);
}
