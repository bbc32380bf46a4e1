/** The example programs against a whole gateway, and the catalog of events against what a turn actually sends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { agentEvent } from '../../channels/http/openapi.ts';
import { Client } from '../../docs/examples/client.ts';
import { describeGateway, OWNER } from '../flows/setup.ts';
import { clientTypes, TYPES_FILE } from './client-types.ts';
import { ROOT } from './pages.ts';
import { needs } from '../runs/needs.ts';

it('the types of the example client match the API', async () => {
  const written = readFileSync(path.join(ROOT, TYPES_FILE), 'utf8');
  expect(written, 'run: npm run docs').toBe(await clientTypes());
});

it.each([
  ['chat.ts', process.execPath, {}, 'Set TOKEN'],
  ['chat.sh', 'sh', {}, 'Set TOKEN'],
  ['webhook-receiver.ts', process.execPath, {}, 'Set EVENTS_SECRET'],
  ['webhook-receiver.ts', process.execPath, { EVENTS_SECRET: 'x'.repeat(15) }, 'at least 16 characters'],
])('%s does not run without its secret, and names it (%#)', async (file, command, variables, text) => {
  const child = spawn(command, [path.join('docs/examples', file)], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], PORT: '0', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill());
  const errors = buffer(child.stderr);
  const [code] = await once(child, 'close');
  expect([code === 0, (await errors).toString()]).toEqual([false, expect.stringContaining(text)]);
});

for (const [file, command, options] of [
  ['chat.ts', process.execPath, {}],
  ['chat.py', 'python3', needs('python3')],
] as const)
  it(`${file} says in one line that no gateway answers`, options, async () => {
    const child = spawn(command, [path.join('docs/examples', file)], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], TOKEN: 'x', GATEWAY: 'http://127.0.0.1:9' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const errors = buffer(child.stderr);
    await once(child, 'close');
    expect((await errors).toString()).toMatch(/^No gateway answers at http:\/\/127\.0\.0\.1:9.*\n$/);
  });

describeGateway('an example', {}, (fixture) => {
  const run = async (command: string, file: string, question: string): Promise<string> => {
    const child = spawn(command, [path.join('docs/examples', file), question], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], TOKEN: OWNER, GATEWAY: fixture().gateway.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    return output;
  };

  const programs = [
    { language: 'TypeScript', command: process.execPath, file: 'chat.ts', options: {} },
    { language: 'Python', command: 'python3', file: 'chat.py', options: needs('python3') },
  ];
  for (const { language, command, file, options } of programs)
    it(`in ${language} prints the answer as it was stored`, options, async () => {
      fixture().ollama.answer('The lines\nof "an" answer: äöü 😀.', { when: `new in ${file}?` });
      expect(await run(command, file, `What is new in ${file}?`)).toBe(
        'The lines\nof "an" answer: äöü 😀.\n',
      );
      // A command is answered at once.
      expect(await run(command, file, '/help')).toContain('/stop');
    });

  it('in the shell prints the completion', async () => {
    fixture().ollama.answer('From the shell.', { when: 'say "it"' });
    const { choices } = JSON.parse(await run('sh', 'chat.sh', 'say "it"'));
    expect(choices[0].message.content).toBe('From the shell.');
  });

  it('prints the gateway’s own error when the token is wrong', async () => {
    const client = new Client(fixture().gateway.url, 'wrong');
    await expect(client.call('GET /v1/sessions', {})).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
  });

  it('receives only events of the catalog, including those of tools, todos and subagents', async () => {
    const { ollama, gateway } = fixture();
    const client = new Client(gateway.url, OWNER);
    const key = 'http:catalogue';
    ollama.answer(
      { toolCalls: [{ name: 'todo', args: { items: [{ text: 'one', status: 'pending' }] } }] },
      { when: 'list' },
    );
    ollama.answer({ toolCalls: [{ name: 'list_files', args: {} }] }, { when: 'list' });
    ollama.answer('Done.', { when: 'list' });
    const sent = await client.call('POST /v1/sessions/{key}/messages', {
      path: { key },
      body: { content: 'list' },
    });
    const types = new Set<string>();
    for await (const { event } of client.events(key, '0-0')) {
      expect(agentEvent.safeParse(event)).toMatchObject({ success: true });
      types.add(event.type);
      if (event.type === 'turn_ended' && event.turnId === sent.turnId) break;
    }
    expect([...types]).toEqual(
      expect.arrayContaining(['turn_started', 'tool_call', 'tool_result', 'stream_chunk']),
    );
  });
});
