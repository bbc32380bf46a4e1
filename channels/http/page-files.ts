/**
 * The files of the built page (`build.ts`), read once and kept in memory, so that no request can reach another file. All but
 * the page itself have a hash of their bytes in their address, and browsers keep them permanently.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ENGLISH } from '../../src/protocol/texts/english.ts';
import { FRAMED } from '../../src/protocol/operator/sign-in.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';
import { inEnglish, type PlainKey, type Say } from '../../src/protocol/texts/say.ts';
import { HttpError } from './errors.ts';
import { wantedLanguages } from './inbound.ts';
import type { HandlerDeps, HttpContext } from './route.ts';
import { languageCookie } from './routes/person.ts';

/** A place for a text, or for a value with this name. */
const PLACE = /\{\{([a-z_.]+)\}\}/g;

/** The form of a file, which says how a text is written in it. */
type Form = 'html' | 'json';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Keys of texts that the page's scripts use, by their area. */
const AREAS =
  /^(?:(?:page|link|cancelled|step|failure|time|problem)\.|turn\.plan_made$|knowledge\.(?:page|lines|by_words|by_meaning)$)/;

/** Keys of the texts for errors, by their code. */
const REFUSALS = /^page\.error\./;

/** A file as it is served. */
export interface PageFile {
  body: Buffer<ArrayBuffer>;
  headers: Record<string, string>;
  /** Made once, when the file is first requested. */
  gzipped?: Promise<Buffer<ArrayBuffer>>;
}

/** The files that the page has in this version of the gateway. */
export interface PageFiles {
  /** The files that contain texts, in this language, by their URL's path. Made once for each state of its texts. */
  said: (say: Say) => ReadonlyMap<string, PageFile>;
  /** By their URL's path: `/page/assets/main-<hash>.js`. */
  byPath: ReadonlyMap<string, PageFile>;
  /**
   * What is served for a file of another version, by its name without the hash: `main.js`. During an upgrade two
   * versions share one address, and the page of one may ask the other for its scripts.
   */
  standIns: ReadonlyMap<string, PageFile>;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

/** No site may frame the page, unless it is opened as a network's web page does. */
const FRAMED_BY_NONE = "frame-ancestors 'none'";
/** Only this server's files may run, load or be called. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "img-src 'self' data: blob:",
  "manifest-src 'self'",
  'media-src blob:',
  "base-uri 'none'",
  FRAMED_BY_NONE,
  "form-action 'none'",
].join('; ');

const DIAGRAM = '/page/diagram.html';
/**
 * Of the frame that draws a diagram: it may set styles, which the page may not, and has therefore no origin and no
 * requests. Its answer to the page is a height.
 */
const DIAGRAM_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
  "form-action 'none'",
  'sandbox allow-scripts',
].join('; ');
/** The page records what is dictated, and asks for nothing else of a device. */
const PERMISSIONS_POLICY =
  'camera=(), display-capture=(), geolocation=(), microphone=(self), payment=(), usb=()';

/** The address of a hashed file names its bytes. */
const FOR_GOOD = 'public, max-age=31536000, immutable';
const ASK_EACH_TIME = 'no-cache';
/** What the answer with the page depends on besides its address: the reader's language. */
const VARIES = 'Accept-Encoding, Accept-Language, Cookie';
const NOT_AT_ALL = 'no-store';

const BUILT = new URL('../../dist/page/', import.meta.url);
/** The script that the page links, with the texts of one language. */
const MAIN = 'main.js';
/** Files that keep their names, because browsers and systems know the page by them. */
const NAMED: readonly [string, string][] = [
  ['/', 'index.html'],
  [DIAGRAM, 'diagram.html'],
  ['/sw.js', 'sw.js'],
  ['/page/manifest.webmanifest', 'manifest.webmanifest'],
];

let read: Promise<PageFiles> | undefined;

/** Reads the page, once in a process. Rejects with `HttpError` 503 where it is not built, and with file system errors. */
export function readPageFiles(): Promise<PageFiles> {
  read ??= readBuilt().catch((error: unknown) => {
    // The next request tries again.
    read = undefined;
    throw error;
  });
  return read;
}

async function readBuilt(): Promise<PageFiles> {
  if (!existsSync(BUILT)) {
    const text =
      'The chat page is not built here: run "npm ci --include=dev && npm run build" on the gateway\'s machine, then load it again.';
    throw new HttpError(503, 'page_not_built', text);
  }
  const assets = await readFolder('assets/');
  const standIns = await readFolder('stand-ins/');
  const script = await readFile(new URL(MAIN, BUILT), 'utf8');
  const templates = await Promise.all(
    NAMED.map(async ([address, name]): Promise<Template> => {
      return [address, path.extname(name), await readFile(new URL(name, BUILT), 'utf8')];
    }),
  );
  const filesByTable = new WeakMap<Say['table'], ReadonlyMap<string, PageFile>>();
  return {
    byPath: new Map(
      assets.map(([name, body]) => [`/page/assets/${name}`, toPageFile(path.extname(name), body, FOR_GOOD)]),
    ),
    standIns: new Map(
      standIns.map(([name, body]) => [name, toPageFile(path.extname(name), body, NOT_AT_ALL)]),
    ),
    said: (say) => {
      const files = filesByTable.get(say.table) ?? sayFiles(templates, script, say);
      filesByTable.set(say.table, files);
      return files;
    },
  };
}

async function readFolder(name: string): Promise<[string, Buffer<ArrayBuffer>][]> {
  const folder = new URL(name, BUILT);
  const names = await readdir(folder);
  return await Promise.all(
    names.map(async (file): Promise<[string, Buffer<ArrayBuffer>]> => [
      file,
      await readFile(new URL(file, folder)),
    ]),
  );
}

type Template = readonly [address: string, ext: string, text: string];

/** The page, its manifest and its script in one language. */
function sayFiles(templates: readonly Template[], script: string, say: Say): ReadonlyMap<string, PageFile> {
  const localScript = textsScript(say) + script;
  const scriptAt = `/page/assets/${assetName(MAIN, localScript)}`;
  const values = { language: say.language, script: scriptAt };
  const files = templates.map(([address, ext, text]): [string, PageFile] => {
    const filled = ext === '.js' ? text : fillTemplate(text, ext === '.html' ? 'html' : 'json', say, values);
    const file = toPageFile(ext, filled, ASK_EACH_TIME, VARIES);
    if (address === DIAGRAM) file.headers['content-security-policy'] = DIAGRAM_POLICY;
    return [address, file];
  });
  return new Map([...files, [scriptAt, toPageFile('.js', localScript, FOR_GOOD)]]);
}

/** Digits of a file's hash that are in its address. */
const HASH_DIGITS = 16;
const HASHED = new RegExp(`^/page/assets/([\\w.-]+)-[0-9a-f]{${HASH_DIGITS}}(\\.\\w+)$`);

/** The name of a file among the assets, which names its bytes. */
export function assetName(name: string, content: string | Buffer<ArrayBuffer>): string {
  const { name: stem, ext } = path.posix.parse(name);
  return `${stem}-${hashOf(content).slice(0, HASH_DIGITS)}${ext}`;
}

/** The languages of the gateway, and that of the reader. */
export interface ReaderLanguage {
  codes: readonly string[];
  say: (code: string) => Say;
  /** The code of the reader's. */
  language: string;
}

/** The file at a path; for one of another version, what stands in for it. */
function findPageFile(
  { byPath, standIns, said }: PageFiles,
  urlPath: string,
  { codes, say, language }: ReaderLanguage,
): PageFile | undefined {
  const [, stem, ext] = HASHED.exec(urlPath) ?? [];
  const name = `${stem}${ext}`;
  // A reader with the address of a script reads the language of its bytes.
  const readers = name === MAIN ? codes : [language];
  const inLanguage = readers.map((code) => said(say(code)).get(urlPath)).find(Boolean);
  return byPath.get(urlPath) ?? inLanguage ?? standIns.get(name);
}

function hashOf(content: string | Buffer<ArrayBuffer>): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The policy of a file; that of the page allows the scripts which it contains, by their hashes. */
function policyOf(ext: string, content: string | Buffer<ArrayBuffer>): string {
  const scripts = ext === '.html' ? String(content).split('<script>').slice(1) : [];
  const hashes = scripts.map((code) => {
    const script = code.slice(0, code.indexOf('</script>'));
    return ` 'sha256-${createHash('sha256').update(script).digest('base64')}'`;
  });
  return CONTENT_SECURITY_POLICY.replace("script-src 'self'", (self) => self + hashes.join(''));
}

function toPageFile(
  ext: string,
  content: string | Buffer<ArrayBuffer>,
  cacheControl: string,
  vary = 'Accept-Encoding',
): PageFile {
  const headers = {
    'content-type': TYPES[ext] ?? '',
    'cache-control': cacheControl,
    vary,
    'content-security-policy': policyOf(ext, content),
    'permissions-policy': PERMISSIONS_POLICY,
    ...(cacheControl === NOT_AT_ALL ? {} : { etag: `"${hashOf(content).slice(0, 32)}"` }),
  };
  return { body: typeof content === 'string' ? Buffer.from(content) : content, headers };
}

/**
 * Fills the places of a file: with a text by its key, else with one of the `values`. Throws `TypeError` for a place that
 * neither knows: the installation is broken then.
 */
export function fillTemplate(
  template: string,
  form: Form,
  say: Say,
  values: Readonly<Record<string, string>>,
): string {
  return template.replaceAll(PLACE, (_, name: string) => {
    const text = values[name] ?? (isPlain(name) ? say(name) : undefined);
    if (text === undefined) throw new TypeError(`the page has a place for "${name}", which is no text`);
    return form === 'html' ? toHtml(text) : JSON.stringify(text).slice(1, -1);
  });
}

function isPlain(key: string): key is PlainKey {
  return key in ENGLISH;
}

/** A text as HTML; what is between backticks is code. */
function toHtml(text: string): string {
  return text
    .replaceAll(/[&<>"]/g, (char) => ENTITIES[char] ?? char)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** The statement that gives the page's texts in one language to the scripts after it. */
export function textsScript(say: Say): string {
  const keys = (table: object): [string, unknown][] =>
    Object.entries(table).filter(([key]) => AREAS.test(key));
  // In English the page shows the errors' own messages, which are the most specific.
  const localTexts = keys(say.table).filter(([key]) => say.language !== 'en' || !REFUSALS.test(key));
  const included = new Set(localTexts.map(([key]) => key));
  const texts = {
    language: say.language,
    parley: PARLEY,
    table: Object.fromEntries(localTexts),
    english: Object.fromEntries(
      keys(inEnglish.table).filter(([key]) => !included.has(key) && !REFUSALS.test(key)),
    ),
  };
  return `globalThis.parleyTexts=${JSON.stringify(texts)};\n`;
}

const compress = promisify(gzip);

/**
 * Answers with the file at the request's path, or 304 when the browser has it. The page is in the language that was
 * chosen in this browser, else in the default one for readers who are not known. Throws `HttpError` 404.
 */
export async function servePageFile(c: HttpContext, { gateway, languages }: HandlerDeps): Promise<Response> {
  const { incoming } = c.env;
  const [codes, cookieLanguage] = [languages.codes(), languageCookie(incoming)];
  const isKnown = cookieLanguage !== undefined && codes.includes(cookieLanguage);
  const language = isKnown ? cookieLanguage : languages.ofStranger(wantedLanguages(incoming));
  const say = (code: string): Say => languages.say({ language: code, channel: 'http' });
  const file = findPageFile(await readPageFiles(), c.req.path, { codes, say, language });
  if (file === undefined) throw new HttpError(404, 'not_found', 'This file does not exist.');
  const isFramed = c.req.path === '/' && c.req.query(FRAMED) !== undefined;
  const headers = isFramed ? framedBy(file.headers, gateway.signIns.frames()) : file.headers;
  const { etag } = headers;
  if (etag !== undefined && c.req.header('if-none-match') === etag) return c.body(null, 304, headers);
  if (!/\bgzip\b/.test(c.req.header('accept-encoding') ?? '')) return c.body(file.body, 200, headers);
  file.gzipped ??= compress(file.body, { level: 9 });
  return c.body(await file.gzipped, 200, { ...headers, 'content-encoding': 'gzip' });
}

/** The headers of the page where these origins may frame it. Nobody is signed in there but whom the network names. */
function framedBy(headers: PageFile['headers'], origins: readonly string[]): PageFile['headers'] {
  const policy = headers['content-security-policy'] ?? '';
  if (origins.length === 0) return headers;
  const framed = policy.replace(FRAMED_BY_NONE, `frame-ancestors ${origins.join(' ')}`);
  return { ...headers, 'content-security-policy': framed };
}
