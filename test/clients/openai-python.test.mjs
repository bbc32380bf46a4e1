/** OpenAI's Python package, where this machine's Python has it (`PYTHON` names another one). */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startForClients, TOKEN } from './gateway.mjs';

const python = process.env['PYTHON'] ?? 'python3';
const isThere = spawnSync(python, ['-c', 'import openai']).status === 0;
if (!isThere) process.stderr.write(`Skipped: ${python} has no package openai: pip install openai\n`);

describe('the openai package of Python', () => {
  let gateway;
  beforeAll(async () => void (gateway = await startForClients()));
  afterAll(() => gateway.close());

  it.skipIf(!isThere)('gets what it asks for, or is refused by name', async () => {
    const { model } = gateway;
    model.answer('On the table.');
    model.answer({ text: ['On ', 'the ', 'table.'] });
    model.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
    model.answer((body) => `I see ${body.messages.at(-1).content}.`);
    model.answer('{"city": "Oslo", "people": 1}');
    model.answer('On the chair.');
    model.answer({ text: ['On ', 'the ', 'chair.'] });
    const broken = { failure: { kind: 'status', status: 401, error: 'no key' } };
    for (let n = 0; n < 3; n += 1) model.answer(broken);
    const script = path.join(import.meta.dirname, 'openai_client.py');
    const { stdout } = await promisify(execFile)(python, [script, gateway.baseURL, TOKEN]);
    const { refused, failed, after: afterTools, ...seen } = JSON.parse(stdout);
    assert.deepEqual(seen, {
      text: 'On the table.',
      streamed: 'On the table.',
      call: ['tool_calls', 'look', { at: 'home' }],
      parsed: { city: 'Oslo', people: 1 },
      response: 'On the chair.',
      'response streamed': 'On the chair.',
      vectors: 2,
      model: 'default',
    });
    assert.match(afterTools, /^I see .*a cat.*\.$/s);
    assert.deepEqual(refused, [400, 'unsupported_value', 'n']);
    assert.equal(failed[0], 502);
    // The client would ask again twice: a turn that failed for good tells it not to.
    const headers = { authorization: `Bearer ${TOKEN}` };
    const stored = await fetch(`${gateway.baseURL}/sessions/http:python/messages`, { headers });
    const { messages } = await stored.json();
    assert.equal(messages.filter(({ role }) => role === 'user').length, 1);
  });
});
