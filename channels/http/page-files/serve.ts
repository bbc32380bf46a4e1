/** Answers requests for the files of the page. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { wantedLanguages } from '../inbound.ts';
import { languageCookie } from '../routes/language.ts';
import type { Say } from '../../../src/protocol/texts/say.ts';
import { findPageFile, readPageFiles } from './files.ts';

const compress = promisify(gzip);

/**
 * Answers with the file at the request's path, or 304 when the browser has it. The page is in the language that was
 * chosen in this browser, else in the default one for readers who are not known. Throws `HttpError` 404.
 */
export async function servePageFile(c: HttpContext, { languages }: HandlerDeps): Promise<Response> {
  const { incoming } = c.env;
  const [codes, chosen] = [languages.codes(), languageCookie(incoming)];
  const isThere = chosen !== undefined && codes.includes(chosen);
  const language = isThere ? chosen : languages.ofStranger(wantedLanguages(incoming));
  const say = (code: string): Say => languages.say({ language: code, channel: 'http' });
  const file = findPageFile(await readPageFiles(), c.req.path, { codes, say, language });
  if (file === undefined) throw new HttpError(404, 'not_found', 'This file does not exist.');
  const { etag } = file.headers;
  if (etag !== undefined && c.req.header('if-none-match') === etag) return c.body(null, 304, file.headers);
  if (!/\bgzip\b/.test(c.req.header('accept-encoding') ?? '')) return c.body(file.body, 200, file.headers);
  file.gzipped ??= compress(file.body, { level: 9 });
  return c.body(await file.gzipped, 200, { ...file.headers, 'content-encoding': 'gzip' });
}
