/** The contract of every tool; automatically runs over the list in `src/tools/index.ts`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { GatewayError } from '../../../src/protocol/errors.ts';
import type { Tool, ToolResult } from '../../../src/protocol/agent/tool.ts';
import { createTools, enabledTools, withChangingTools } from '../../../src/tools/index.ts';
import { wireSchema } from '../../../src/lib/json/wire-schema.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';
import { serverProblem } from '../../fakes/model/schema-rules.ts';
import { toolOptions } from '../../fakes/tool-options.ts';

const tools = createTools(toolOptions);
const NO_TOOLS: readonly Tool[] = [];
const noMore = { named: undefined, added: [], servers: [], searches: false };

type RequiredKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];

/** What approvals depend on. Does not compile if a tool could leave one of these out. */
const DECLARED = ['effect', 'risk', 'results', 'reach'] as const satisfies readonly RequiredKeys<Tool>[];

const CANARY = 'canary-outside-the-workspace';
const HOSTILE_TEXT = fc.oneof(
  fc.constantFrom(
    '../canary.txt',
    '/etc/passwd',
    '~',
    'a\0b',
    '..',
    '%2e%2e/canary.txt',
    '..\\canary.txt',
    '',
  ),
  fc.constantFrom('/proc/self/environ', 'a/../../canary.txt', './../canary.txt', 'x'.repeat(5_000), '\ud800'),
  fc.string({ unit: 'binary' }),
);

let root = '';
let workspace = '';

beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-tool-'));
  await writeFile(path.join(root, 'canary.txt'), CANARY);
  workspace = await mkdtemp(path.join(root, 'ws-'));
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

it('gives every tool a unique name', () => {
  const names = tools.map((tool) => tool.name);
  expect(new Set(names).size).toBe(names.length);
});

it('refuses two tools with the same name, naming both', () => {
  const second = { ...createTools(toolOptions)[0]!, description: 'Another tool for folders.' };
  expect(createTools(toolOptions, [{ ...second, name: 'added' }]).at(-1)?.name).toBe('added');
  expect(() => createTools(toolOptions, [second])).toThrow(
    /^Two tools are called "list_dir": "List the files .*" and "Another tool for folders\."\. Rename one of them\.$/,
  );
});

it('refuses to enable a tool that is not in the list, naming every unknown one', () => {
  expect(() => enabledTools({ ...noMore, named: ['read_file', 'exec'], tools })).not.toThrow();
  expect(() => enabledTools({ ...noMore, named: ['reed_file', 'exec', 'lost_dir'], tools })).toThrow(
    /tools\.enabled: there is no tool "reed_file", "lost_dir"; the tools are list_dir, read_file/,
  );
});

it('enables the default tools when none is named, search only once it is set up', () => {
  const usual = ['list_dir', 'read_file', 'write_file', 'edit_file', 'web_fetch'];
  const rest = ['memory', 'cron', 'spawn_agent', 'message', 'send_file', 'ask'];
  expect(enabledTools({ ...noMore, tools })).toEqual([...usual, ...rest]);
  expect(enabledTools({ ...noMore, tools, searches: true })).toEqual([...usual, 'web_search', ...rest]);
});

it('offers web_search and exec only while they are set up, and the same list until something changes', () => {
  let setUp = { exec: false, searches: false };
  const offered = withChangingTools(
    tools,
    () => NO_TOOLS,
    () => setUp,
  );
  const needing = (): string[] =>
    offered()
      .map(({ name }) => name)
      .filter((name) => name === 'web_search' || name === 'exec');
  expect(needing()).toEqual([]);
  expect(offered()).toBe(offered());
  setUp = { exec: false, searches: true };
  expect(needing()).toEqual(['web_search']);
  expect(offered()).toBe(offered());
  setUp = { exec: true, searches: false };
  expect(needing()).toEqual(['exec']);
  setUp = { exec: false, searches: false };
  expect(needing()).toEqual([]);
});

it('adds the tools of MCP servers to the default and the named ones, unless some of theirs are named', () => {
  const servers = ['notes'];
  const named = (...names: string[]) => enabledTools({ ...noMore, named: names, tools, servers });
  expect(enabledTools({ ...noMore, tools, servers })).toContain('mcp');
  expect(named('read_file')).toEqual(['read_file', 'mcp']);
  expect(named('read_file', 'notes__search')).toEqual(['read_file', 'notes__search']);
  expect(named('read_resource')).toEqual(['read_resource']);
  expect(() => named('mails__search')).toThrow(/there is no tool "mails__search"/);
});

describe.each(tools.map((tool) => ({ name: tool.name, tool })))('$name', ({ tool }) => {
  it('is described for the model: snake_case name, a sentence, an object schema (B-15)', () => {
    expect(tool.name).toMatch(/^[a-z][a-z0-9_]{1,40}$/);
    expect(tool.description.length).toBeGreaterThan(10);
    expect(tool.description.length).toBeLessThan(1_000);
    expect(['pure', 'idempotent', 'unsafe']).toContain(tool.effect);
    const schema = z.toJSONSchema(tool.parameters, { io: 'input' });
    expect(schema).toMatchObject({ type: 'object' });
    expect(serverProblem(wireSchema(schema).schema)).toBeUndefined();
  });

  it('refuses unknown arguments instead of guessing', () => {
    expect(tool.parameters.safeParse({ surely_unknown: true }).success).toBe(false);
    expect(tool.parameters.safeParse('text').success).toBe(false);
  });

  it('states where the text of its results comes from, without a trusted default', () => {
    for (const name of DECLARED) expect(tool).toHaveProperty(name);
    expect(['operator', 'web', 'local', 'person']).toContain(tool.results);
  });

  it('judges risk and reach of any arguments it accepts without throwing', () => {
    const judged = fc.property(fc.oneof(fc.anything(), hostileArgs(tool)), (given) => {
      const parsed = tool.parameters.safeParse(given);
      if (!parsed.success) return true;
      const reach = tool.reach(parsed.data);
      const isReach = typeof reach === 'object' || ['session', 'outside'].includes(reach);
      return isReach && ['safe', 'caution', 'dangerous'].includes(tool.risk(parsed.data));
    });
    expect(fc.check(judged)).toMatchObject({ failed: false });
  });

  it('stays inside the workspace and fails only with a GatewayError, given hostile text (B-48)', async () => {
    const canaries = fc.asyncProperty(hostileArgs(tool), async (given) => {
      const parsed = tool.parameters.safeParse(given);
      if (!parsed.success) return true;
      const running = tool.execute(parsed.data, toolContext({ workspace }));
      const ended = await running.catch((error: unknown) => error);
      return ended instanceof GatewayError || (isResult(ended) && !ended.content.includes(CANARY));
    });
    expect(await fc.check(canaries, { numRuns: 60 })).toMatchObject({ failed: false });
  });
});

function isResult(ended: unknown): ended is ToolResult {
  return (
    typeof ended === 'object' && ended !== null && 'content' in ended && typeof ended.content === 'string'
  );
}

/** Values of the right types with hostile contents, from the tool's schema. */
function hostileArgs(tool: Tool): fc.Arbitrary<Record<string, unknown>> {
  const schema = z.toJSONSchema(tool.parameters, { io: 'input' });
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]): [string, fc.Arbitrary<unknown>] => {
      const type = typeof field === 'object' ? field.type : undefined;
      if (type === 'string') return [name, HOSTILE_TEXT];
      return [name, type === 'integer' || type === 'number' ? fc.nat() : fc.anything()];
    },
  );
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}
