/** Reads `parley.plugin.json`: what a plug-in is, gives and asks for. Everything that is not part of the contract is refused. */
import { z } from 'zod';
import { isTooDeep } from '../lib/json/json.ts';
import { escapeControls } from '../lib/text.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { PluginManifest } from '../protocol/plugin.ts';
import { problemOfField, schemaProblems } from '../protocol/settings.ts';
import { inEnglish } from '../protocol/texts/say.ts';

/** The name of the file. */
export const MANIFEST_FILE = 'parley.plugin.json';
/** The version of the contract that this gateway speaks. */
const CONTRACT = 1;
/** Largest manifest, in bytes: tools bring their schemas. */
export const MAX_MANIFEST_BYTES = 256 * 1024;
/** Memory of a plug-in, in MiB. */
export const DEFAULT_MEMORY_MB = 256;
/** Largest file that passes between the gateway and a plug-in, in bytes. */
export const MAX_PLUGIN_FILE_BYTES = 64 * 1024 * 1024;

const NAME = /^[a-z][a-z0-9]{0,31}$/;
const VARIABLE = /^[A-Z][A-Z0-9_]{1,63}$/;
const FIELD = /^[a-z][A-Za-z0-9]{0,39}$/;
/** `host`, `host:port`, `*.host`, or the same with settings in braces. */
const HOST = /^(\*\.)?([a-z0-9-]+(\.[a-z0-9-]+)*|\{[A-Za-z]\w*\})(:(\d{1,5}|\{[A-Za-z]\w*\}))?$/;
const SETTING_IN_BRACES = /\{([A-Za-z]\w*)\}/g;

const line = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((text) => !/[\r\n]/.test(text), 'must be one line');
/** A path in the plug-in's folder: no part of it leads out. */
const inside = z
  .string()
  .max(300)
  .refine(
    (file) =>
      !/^\/|\\|\0|^[A-Za-z]:/.test(file) && !file.split('/').some((part) => part === '' || part === '..'),
    'must be a path inside the folder, such as dist/main.js',
  );
/** Repetitions in a pattern: the gateway itself runs it, so no text may keep it busy. */
const MAX_REPETITIONS = 4;
const pattern = z
  .string()
  .max(200)
  .refine(isPattern, 'must be a regular expression')
  .refine(
    isQuick,
    `must have at most ${MAX_REPETITIONS} repetitions, none of a group, and no references or lookarounds`,
  );
const idPattern = pattern.refine(
  (text) => text.startsWith('^') && text.endsWith('$') && isPattern(text) && !new RegExp(text).test(''),
  'must match the whole id, from ^ to $, and no empty text',
);
const secretShape = pattern.refine(
  (text) => /^[\w-]{3,}/.test(text) && repetitionsIn(text) <= 1,
  'must begin with three letters or digits, and have one repetition',
);

const setting = z
  .strictObject({
    name: z
      .string()
      .refine(
        (name) => VARIABLE.test(name) || FIELD.test(name),
        'must be a variable such as EXAMPLE_TOKEN, or a field such as editIntervalMs',
      ),
    description: line(300),
    type: z.enum(['text', 'number', 'boolean', 'url']).optional(),
    secret: z.boolean().optional(),
    required: z.boolean().optional(),
    default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  })
  .refine(({ name, secret }) => secret !== true || VARIABLE.test(name), 'a secret must be a variable');

const rights = z.strictObject({
  network: z
    .array(
      z.string().regex(HOST, 'must be a host such as api.example.org, imap.example.org:993 or {SETTING}'),
    )
    .max(50)
    .optional(),
  listen: z
    .array(z.union([z.int().min(1).max(65_535), z.string().regex(/^\{[A-Za-z]\w*\}$/, 'must be {SETTING}')]))
    .max(10)
    .optional(),
  environment: z.array(z.string().regex(VARIABLE)).max(50).optional(),
  files: z
    .strictObject({ read: z.array(inside).max(20).optional(), write: z.array(inside).max(20).optional() })
    .optional(),
  runtime: z.array(z.enum(['child-process', 'worker', 'addons', 'wasi'])).optional(),
  memory: z.int().min(64).max(2_048).optional(),
});

const mark = z.string().max(10).optional();
const unit = z.enum(['utf16', 'characters', 'bytes']).optional();
const render = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('plain'), unit }),
  z.strictObject({ kind: z.literal('html'), unit }),
  z.strictObject({
    kind: z.literal('marks'),
    unit,
    bold: mark,
    italic: mark,
    strike: mark,
    code: mark,
    block: mark,
    quote: mark,
    bullet: mark,
    link: z.enum(['text (url)', '[text](url)', '<url|text>']).optional(),
    escape: z
      .strictObject({ characters: z.string().min(1).max(40), with: z.string().min(1).max(4) })
      .optional(),
  }),
]);

const channel = z.strictObject({
  needs: z.string(),
  tokenPage: z.url({ protocol: /^https$/ }).optional(),
  commandMark: z.string().min(1).max(3).optional(),
  ids: z.strictObject({
    user: idPattern,
    chat: idPattern,
    description: line(120),
    privateChat: pattern.optional(),
    chatIsUser: z.literal(true).optional(),
  }),
  capabilities: z
    .strictObject({
      maxLength: z.int().min(20).max(1_000_000),
      edit: z.boolean().optional(),
      delete: z.boolean().optional(),
      buttons: z.boolean().optional(),
      answerButtons: z.boolean().optional(),
      threads: z.boolean().optional(),
      typingMs: z.int().min(500).max(60_000).optional(),
      reactions: z
        .array(z.enum(['private', 'group']))
        .max(2)
        .optional(),
      maxFileBytes: z.int().min(1).max(MAX_PLUGIN_FILE_BYTES).optional(),
      maxCaption: z.int().min(0).max(1_000_000).optional(),
    })
    .refine(
      ({ answerButtons, buttons, edit }) => answerButtons !== true || (buttons === true && edit === true),
      'answerButtons needs buttons and edit',
    ),
  rates: z.strictObject({
    callsPerSecond: z.number().min(0.01).max(1_000),
    editIntervalMs: z.int().min(1).max(60_000),
    perChat: z
      .strictObject({ calls: z.int().min(1).max(1_000), ms: z.int().min(100).max(3_600_000) })
      .optional(),
  }),
  render,
  webhook: z.literal(true).optional(),
  secretShapes: z.array(secretShape).max(10).optional(),
});

const tool = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_]{0,29}$/, 'must be lower-case letters, digits and _'),
  description: z.string().min(1).max(1_500),
  parameters: z
    .looseObject({ type: z.literal('object') })
    .refine(
      (schema) => !isTooDeep(schema) && JSON.stringify(schema).length <= 16_384,
      'must have at most 16 KiB',
    ),
  effect: z.enum(['pure', 'idempotent', 'unsafe']).optional(),
  limitMs: z.int().min(100).max(600_000).optional(),
});

const shape = z
  .strictObject({
    contract: z.literal(CONTRACT),
    name: z.string().regex(NAME, 'must be a lower-case letter, then letters and digits, at most 32'),
    version: z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}(-[\w.]{1,40})?$/, 'must be like 1.2.0'),
    label: line(60),
    description: line(300).optional(),
    main: inside.regex(/\.(js|mjs|ts|mts)$/, 'must be a file of JavaScript or TypeScript').optional(),
    settings: z.array(setting).max(50).optional(),
    rights: rights.optional(),
    channel: channel.optional(),
    tools: z.array(tool).min(1).max(64).optional(),
    provider: z.strictObject({ description: line(300).optional() }).optional(),
    skills: z.array(inside).min(1).max(20).optional(),
  })
  .superRefine((manifest, issues) => {
    for (const message of problemsOf(manifest)) issues.addIssue({ code: 'custom', message });
  });

/** What no single field shows. */
function problemsOf(manifest: PluginManifest): string[] {
  const { main, channel: facts, tools = [], provider, skills, settings = [], rights: allowed } = manifest;
  const problems: string[] = [];
  const runs = facts !== undefined || tools.length > 0 || provider !== undefined;
  if (!runs && skills === undefined) problems.push('must have a channel, tools, a provider or skills');
  if (runs && main === undefined) problems.push('main: must name the module');
  const names = settings.map(({ name }) => name);
  const missing = (name: string): boolean => !names.includes(name);
  if (facts !== undefined && (missing(facts.needs) || !VARIABLE.test(facts.needs)))
    problems.push('channel.needs: must be a variable of settings');
  for (const rule of [...(allowed?.network ?? []), ...(allowed?.listen ?? [])])
    for (const [, name = ''] of String(rule).matchAll(SETTING_IN_BRACES))
      if (missing(name)) problems.push(`rights: {${name}} is no setting`);
  for (const list of [names, tools.map(({ name }) => name)])
    for (const name of list.filter((one, at) => list.indexOf(one) !== at))
      problems.push(`${name} occurs twice`);
  return problems;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}

/** A pattern whose time grows with a small power of the text's length. */
function isQuick(text: string): boolean {
  const plain = withoutSets(text);
  return !/\)[*+?{]|\(\?[^:]|\\[1-9k]/.test(plain) && repetitionsIn(text) <= MAX_REPETITIONS;
}

function repetitionsIn(text: string): number {
  return withoutSets(text).match(/[*+{]/g)?.length ?? 0;
}

/** Without what has no meaning of its own: escaped characters other than references, and sets. */
function withoutSets(text: string): string {
  return text.replaceAll(/\\[^1-9k]/g, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
}

/** Reads the text of a manifest. Throws `GatewayError('bad_plugin')` that lists everything that is wrong with it. */
export function readManifest(text: string): PluginManifest {
  const value = parse(text);
  const { contract }: { contract?: unknown } = Object(value);
  // The fields of another version mean nothing here.
  if (contract !== undefined && contract !== CONTRACT)
    throw badManifest([
      `it speaks version ${escapeControls(JSON.stringify(contract)).slice(0, 20)} of the contract, and this gateway speaks version ${CONTRACT}: ${typeof contract === 'number' && contract > CONTRACT ? 'update Parley' : 'get a newer version of the plug-in'}`,
    ]);
  const { data, error } = shape.safeParse(value);
  if (error !== undefined)
    throw badManifest(
      schemaProblems(error, shape).map(({ path, what }) => inEnglish.text(problemOfField(path, what))),
    );
  return data;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badManifest(['it is not JSON'], cause);
  }
}

function badManifest(problems: readonly string[], cause?: unknown): GatewayError {
  const list = problems.slice(0, 10).join('; ');
  return new GatewayError('bad_plugin', `${MANIFEST_FILE} cannot be used: ${list}.`, { cause });
}

/** True for the name of an environment variable; other settings are fields of `config.json`. */
export function isVariable(name: string): boolean {
  return VARIABLE.test(name);
}
