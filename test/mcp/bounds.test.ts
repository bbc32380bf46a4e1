/** The limits of what servers can send, at their edges. */
import { expect, it } from 'vitest';
import {
  MAX_CONTENT_CHARS,
  MAX_PARTS,
  MAX_RESULT_FILES,
  readResult,
  textOfResult,
} from '../../src/mcp/content.ts';
import { MAX_SCHEMA_BYTES, MAX_TOOL_NAME_CHARS, takeTools, toolNames } from '../../src/mcp/server-tools.ts';
import type { McpServerSettings } from '../../src/mcp/settings.ts';
import { createStderrLog, MAX_LINE_CHARS, MAX_LINES, SPAN_MS } from '../../src/mcp/stdio-transport.ts';
import { testLog, toolContext } from '../fakes/agent/tool-context.ts';

/** Of a server that is never connected. */
const settings: McpServerSettings = {
  name: 'notes',
  connection: { kind: 'http', url: 'http://notes.example', headers: {} },
  trusted: false,
  tools: undefined,
  timeoutMs: 1_000,
  secrets: [],
};
const part = (text: string) => ({ type: 'text', text });
const textOf = (content: unknown[]) => textOfResult({ content, isError: false });

it(`reads ${MAX_PARTS} parts and ${MAX_CONTENT_CHARS} characters of a result`, () => {
  expect(textOf(Array.from({ length: MAX_PARTS }, () => part('.')))).not.toContain('not shown');
  expect(textOf(Array.from({ length: MAX_PARTS + 1 }, () => part('.')))).toContain(
    '(and 1 more parts: not shown)',
  );
  expect(textOf([part('x'.repeat(MAX_CONTENT_CHARS))])).toHaveLength(MAX_CONTENT_CHARS);
  expect(textOf([part('x'.repeat(MAX_CONTENT_CHARS + 1))])).toContain('(1 more characters)');
  expect(textOf([])).toBe('(no content)');
});

it(`accepts a schema of ${MAX_SCHEMA_BYTES} bytes, and none that is longer or endlessly nested`, () => {
  const take = (inputSchema: unknown) =>
    takeTools(settings, [{ name: 'a', inputSchema }], () => Promise.reject(new Error('not called')));
  const padded = (bytes: number) => {
    const bare = { type: 'object', description: '' };
    return { ...bare, description: 'd'.repeat(bytes - JSON.stringify(bare).length) };
  };
  expect(take(padded(MAX_SCHEMA_BYTES)).tools).toHaveLength(1);
  expect(take(padded(MAX_SCHEMA_BYTES + 1)).notices[0]).toContain('16 KiB are allowed');
  let nested: unknown = {};
  for (let n = 0; n < 100; n += 1) nested = { properties: { a: nested } };
  expect(take({ type: 'object', properties: nested }).notices[0]).toContain('nested too deep');
  expect(take(undefined).notices).toHaveLength(1);
});

it('passes on arguments when the schema cannot be followed, because the server checks them', () => {
  const inputSchema = { type: 'object', properties: { a: { $ref: 'https://elsewhere.example/a' } } };
  const { tools } = takeTools(settings, [{ name: 'a', inputSchema }], () =>
    Promise.reject(new Error('not called')),
  );
  expect(tools[0]?.parameters.safeParse({ a: 1 }).success).toBe(true);
  expect(tools[0]?.parameters.safeParse([]).success).toBe(false);
});

it(`keeps a name of ${MAX_TOOL_NAME_CHARS} characters as it is, and gives a longer one a digest to keep it distinct`, () => {
  const fits = 'n'.repeat(MAX_TOOL_NAME_CHARS - 'notes__'.length);
  expect(toolNames('notes', [fits])).toEqual([`notes__${fits}`]);
  const names = toolNames('notes', [`${fits}a`, `${fits}b`]);
  expect(names.map((name) => name.length)).toEqual([MAX_TOOL_NAME_CHARS, MAX_TOOL_NAME_CHARS]);
  expect(names[0]).not.toBe(names[1]);
  // The same whatever else is in the list.
  expect(toolNames('notes', [`${fits}b`])).toEqual([names[1]]);
});

it(`logs ${MAX_LINES} lines of standard error in a minute, cut at ${MAX_LINE_CHARS} characters, and counts the others`, () => {
  const lines: string[] = [];
  let now = 0;
  const stderr = createStderrLog(testLog(lines), () => now);
  stderr.write(`${'w'.repeat(MAX_LINE_CHARS + 100)}\n`);
  expect(lines[0]).toContain('w'.repeat(MAX_LINE_CHARS));
  expect(lines[0]).not.toContain('w'.repeat(MAX_LINE_CHARS + 1));
  for (let n = 0; n < MAX_LINES + 9; n += 1) stderr.write(`line ${n}\n`);
  expect(lines).toHaveLength(MAX_LINES);
  now = SPAN_MS;
  stderr.write('in two ');
  stderr.write('pieces\n');
  expect(lines.slice(MAX_LINES).join('')).toContain('"lines":10');
  expect(lines.at(-1)).toContain('in two pieces');
  expect(stderr.last()).toBe('in two pieces');
});

it(`keeps ${MAX_RESULT_FILES} files of a result, and says why the others, and the refused ones, are missing`, async () => {
  const kept: string[] = [];
  const keep = async ({ base64 }: { base64: string }) => {
    if (base64 === 'bad') throw new Error('it is empty');
    kept.push(base64);
    const content = { mimeType: 'image/png', bytes: 1, sha256: '' };
    return {
      attachment: { kind: 'image' as const, name: base64, file: `inbox/tools/${base64}`, ...content },
    };
  };
  const images = (...data: string[]) => ({
    content: data.map((one) => ({ type: 'image', data: one, mimeType: 'image/png' })),
    isError: false,
  });
  const names = Array.from({ length: MAX_RESULT_FILES + 1 }, (_, n) => `a${n}`);
  const { content } = await readResult(images(...names), keep, toolContext());
  expect(kept).toEqual(names.slice(0, MAX_RESULT_FILES));
  expect(content.split('\n').at(-1)).toContain(`not kept: only ${MAX_RESULT_FILES} files of a result are`);
  expect((await readResult(images('bad'), keep, toolContext())).content).toContain('not kept: it is empty');
});
