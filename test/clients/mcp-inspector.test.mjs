/** The command line of MCP's own inspector: it lists what the gateway offers, and asks a person who answers after kill -9. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { it, vi } from 'vitest';
import { freePort } from '../fakes/network/free-port.ts';
import { OWNER } from '../flows/setup.ts';
import { telegramProcess } from '../flows/telegram-process.ts';

const INSPECTOR = fileURLToPath(new URL('node_modules/.bin/mcp-inspector', import.meta.url));
const HUMAN = '7001';
const CONFIG = { access: { telegram: { allow: [HUMAN] }, owners: { telegram: [HUMAN] } } };

it('lists portable tools, talks with the bot, and gets the answer of a person after kill -9', async () => {
  const port = await freePort();
  const gateway = await telegramProcess({ config: CONFIG, environment: { PORT: String(port) } });
  await gateway.start();
  /** Its exit code, what it printed as JSON, and its notes. */
  const inspect = async (...args) => {
    const place = [`http://127.0.0.1:${port}/mcp`, '--header', `Authorization: Bearer ${OWNER}`];
    const child = spawn(process.execPath, [INSPECTOR, '--cli', ...place, ...args], {
      env: { ...process.env, HOME: gateway.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [output, notes, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    assert.equal(code, 0, notes);
    return { ...JSON.parse(output), notes };
  };
  const call = (name, ...args) =>
    inspect('--method', 'tools/call', '--tool-name', name, '--tool-arg', ...args);
  const seen = (part) =>
    vi.waitFor(() => assert.ok(gateway.telegram.screen(HUMAN).join('\n').includes(part)), {
      timeout: 60_000,
    });

  const { tools, notes } = await inspect('--method', 'tools/list', '--strict');
  assert.ok(tools.some(({ name }) => name === 'ask_person'));
  assert.doesNotMatch(notes, /Warning|Error/);
  const { content } = await call('send_message', 'content=hello', 'session=http:inspector');
  assert.equal(content[0].text, 'echo: hello');

  gateway.telegram.says(HUMAN, 'hi', HUMAN);
  await seen('echo: hi');
  const asking = ['key=deploy-42', 'question=Shall I deploy?'];
  const waiting = await call('ask_person', ...asking, 'waitSeconds=0');
  assert.equal(waiting.structuredContent.state, 'waiting');
  await seen('Shall I deploy?');
  // The next message of the chat comes after the question is known to be sent: until then a crash may send it again.
  gateway.telegram.says(HUMAN, '/questions', HUMAN);
  await seen('may have me ask you');
  await gateway.killAndStart();
  const question = gateway.telegram.messages(HUMAN).findLast((message) => message.text.includes('Shall I'));
  gateway.telegram.says(HUMAN, 'Go ahead.', HUMAN, { replyTo: question.id });
  const { structuredContent } = await call('ask_person', ...asking, 'waitSeconds=50');
  assert.deepEqual([structuredContent.state, structuredContent.answer], ['answered', 'Go ahead.']);
  assert.equal(gateway.telegram.screen(HUMAN).join('\n').split('Shall I deploy?').length, 2);
}, 600_000);
