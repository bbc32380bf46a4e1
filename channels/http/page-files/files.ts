/**
 * The files of the page, read and joined once at the start and kept in memory, so that no request can reach another
 * file. All but the page itself have a hash of their bytes in their address, and browsers keep them permanently.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Say } from '../../../src/contracts/texts/say.ts';
import { bundleScript } from './bundle.ts';
import { fillTemplate, textsScript } from './template.ts';

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

/** Only this server's files may run, load or be called, and no site may frame the page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "manifest-src 'self'",
  'media-src blob:',
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'none'",
].join('; ');

/** The address of a hashed file names its bytes. */
const FOR_GOOD = 'public, max-age=31536000, immutable';
const ASK_EACH_TIME = 'no-cache';
/** What the answer with the page depends on besides its address: the reader's language. */
const VARIES = 'Accept-Encoding, Accept-Language, Cookie';
const NOT_AT_ALL = 'no-store';

const PAGE = new URL('../page/', import.meta.url);
/** What a page of another version gets in place of its script. */
const RECOVERY = 'recover.js';
/** The script that the page links, with the texts of one language. */
const MAIN = 'main.js';
/** The script that runs before anything is painted: in the page itself, because a file of its own would be one more request. */
const EARLY = 'first-paint.js';
const PICTURES = new Set(['.svg', '.png']);
const STYLES_LINK = /^ *<link rel="stylesheet" href="\/page\/(.+?)" \/>\n/gm;

/** Files that keep their names, because browsers and systems know the page by them. */
const NAMED: readonly [string, string][] = [
  ['/', 'index.html'],
  ['/page/manifest.webmanifest', 'manifest.webmanifest'],
];

let read: Promise<PageFiles> | undefined;

/**
 * Reads the page and joins its scripts and its styles, once in a process. Rejects with file system errors and with what
 * `bundleScript` rejects with: without these files the installation is broken.
 */
export function readPageFiles(): Promise<PageFiles> {
  read ??= assemble().catch((error: unknown) => {
    // The next request tries again.
    read = undefined;
    throw error;
  });
  return read;
}

async function assemble(): Promise<PageFiles> {
  const entries = await readdir(PAGE, { recursive: true });
  const served = entries.filter((name) => path.extname(name) in TYPES);
  const files = served.map(async (name): Promise<[string, Buffer<ArrayBuffer>]> => [
    name.replaceAll(path.sep, '/'),
    await readFile(new URL(name.replaceAll(path.sep, '/'), PAGE)),
  ]);
  return await new Assembly(new Map(await Promise.all(files))).assemble();
}

class Assembly {
  #files;
  #byPath = new Map<string, PageFile>();
  #standIns = new Map<string, PageFile>();
  /** Names by which files refer to others, with the addresses that replace them. */
  #addresses: [string, string][] = [];

  constructor(files: ReadonlyMap<string, Buffer<ArrayBuffer>>) {
    this.#files = files;
  }

  async assemble(): Promise<PageFiles> {
    for (const [file, body] of this.#files) {
      const { base, ext } = path.posix.parse(file);
      if (PICTURES.has(ext)) this.#addresses.push([`/page/${base}`, this.#publish(base, body)]);
    }
    const html = this.#textOf('index.html');
    const links = [...html.matchAll(STYLES_LINK)];
    const styles = links.map(([, name = '']) => this.#textOf(name)).join('\n');
    const [first = '', ...others] = links.map(([link]) => link);
    this.#addresses.push(
      [first, `    <link rel="stylesheet" href="${this.#publish('styles.css', styles)}" />\n`],
      ...others.map((link): [string, string] => [link, '']),
    );
    const early = await this.#bundle(fileURLToPath(new URL(EARLY, PAGE)));
    this.#addresses.push([`<script src="/page/${EARLY}"></script>`, `<script>${early}</script>`]);
    const script = await this.#bundle(fileURLToPath(new URL(MAIN, PAGE)));
    const templates = NAMED.map(([address, name]): [string, string, string] => [
      address,
      path.extname(name),
      this.#withAddresses(this.#textOf(name)),
    ]);
    const made = new WeakMap<Say['table'], ReadonlyMap<string, PageFile>>();
    const said = (say: Say): ReadonlyMap<string, PageFile> => {
      const files = made.get(say.table) ?? sayFiles(templates, script, say);
      made.set(say.table, files);
      return files;
    };
    return { byPath: this.#byPath, standIns: this.#standIns, said };
  }

  #textOf(name: string): string {
    return String(this.#files.get(name) ?? '');
  }

  /** Returns the script that begins with a module, and keeps the ones that it loads later. */
  async #bundle(entry: string): Promise<string> {
    const code = await bundleScript(entry, (specifier, importer) => this.#publishLater(specifier, importer));
    // Only scripts of one version fit together.
    this.#standIns.set(path.basename(entry), toPageFile('.js', this.#textOf(RECOVERY), NOT_AT_ALL));
    return code;
  }

  /** A module of the page as its own script, or a file of a package unchanged. */
  async #publishLater(specifier: string, importer: string): Promise<string> {
    if (specifier.startsWith('.')) {
      const script = await this.#bundle(path.resolve(path.dirname(importer), specifier));
      return this.#publish(path.basename(specifier), script, false);
    }
    const file = new URL(import.meta.resolve(specifier));
    return this.#publish(path.posix.basename(specifier), await readFile(file));
  }

  /** Keeps a file under an address that names its bytes; returns the address. */
  #publish(name: string, content: string | Buffer<ArrayBuffer>, standsIn = true): string {
    const { ext } = path.posix.parse(name);
    const address = addressOf(name, content);
    this.#byPath.set(address, toPageFile(ext, content, FOR_GOOD));
    if (standsIn) this.#standIns.set(name, toPageFile(ext, content, NOT_AT_ALL));
    return address;
  }

  #withAddresses(text: string): string {
    return this.#addresses.reduce((result, [name, address]) => result.replaceAll(name, () => address), text);
  }
}

/** The page, its manifest and its script in one language. */
function sayFiles(
  templates: readonly (readonly [address: string, ext: string, text: string])[],
  script: string,
  say: Say,
): ReadonlyMap<string, PageFile> {
  const saying = textsScript(say) + script;
  const scriptAt = addressOf(MAIN, saying);
  const values = { language: say.language, script: scriptAt };
  const files = templates.map(([address, ext, text]): [string, PageFile] => {
    const filled = fillTemplate(text, ext === '.html' ? 'html' : 'json', say, values);
    return [address, toPageFile(ext, filled, ASK_EACH_TIME, VARIES)];
  });
  return new Map([...files, [scriptAt, toPageFile('.js', saying, FOR_GOOD)]]);
}

/** Digits of a file's hash that are in its address. */
const HASH_DIGITS = 16;
const HASHED = new RegExp(`^/page/assets/([\\w.-]+)-[0-9a-f]{${HASH_DIGITS}}(\\.\\w+)$`);

/** The address of a file, which names its bytes. */
function addressOf(name: string, content: string | Buffer<ArrayBuffer>): string {
  const { name: stem, ext } = path.posix.parse(name);
  return `/page/assets/${stem}-${hashOf(content).slice(0, HASH_DIGITS)}${ext}`;
}

/** The languages of the gateway, and that of the reader. */
export interface ReaderLanguage {
  codes: readonly string[];
  say: (code: string) => Say;
  /** The code of the reader's. */
  language: string;
}

/** The file at a path; for one of another version, what stands in for it. */
export function findPageFile(
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
  const own = ext === '.html' ? String(content).split('<script>').slice(1) : [];
  const hashes = own.map((code) => {
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
    ...(cacheControl === NOT_AT_ALL ? {} : { etag: `"${hashOf(content).slice(0, 32)}"` }),
  };
  return { body: typeof content === 'string' ? Buffer.from(content) : content, headers };
}
