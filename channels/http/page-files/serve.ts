/** Answers requests for the files of the page. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { HttpError } from '../errors.ts';
import type { HttpContext } from '../route.ts';
import { findPageFile, readPageFiles } from './files.ts';

const compress = promisify(gzip);

/** Answers with the file at the request's path, or 304 when the browser has it. Throws `HttpError` 404. */
export async function servePageFile(c: HttpContext): Promise<Response> {
  const file = findPageFile(await readPageFiles(), c.req.path);
  if (file === undefined) throw new HttpError(404, 'not_found', 'This file does not exist.');
  const { etag } = file.headers;
  if (etag !== undefined && c.req.header('if-none-match') === etag) return c.body(null, 304, file.headers);
  if (!/\bgzip\b/.test(c.req.header('accept-encoding') ?? '')) return c.body(file.body, 200, file.headers);
  file.gzipped ??= compress(file.body, { level: 9 });
  return c.body(await file.gzipped, 200, { ...file.headers, 'content-encoding': 'gzip' });
}
