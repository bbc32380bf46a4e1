/** The fake Bot API server: as strict as the real one, with the same error texts. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cleanVisible, readHtml } from '../../fakes/telegram/html.ts';
import { KNOWN_LIMITS } from '../../fakes/telegram/limits.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';

let fake: FakeTelegram;

beforeEach(async () => {
  fake = await FakeTelegram.start({ limits: { ...KNOWN_LIMITS, privateMs: 200 } });
});

afterEach(async () => {
  fake.flood.violations.length = 0;
  await fake.close();
});

interface Answer {
  ok: boolean;
  result?: unknown;
  error_code?: number;
  description?: string;
  parameters?: Record<string, number>;
}

async function call(
  method: string,
  params: Record<string, unknown> = {},
  token = FAKE_TOKEN,
): Promise<Answer> {
  const response = await fetch(`${fake.root}/bot${token}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(params),
  });
  const body: Answer = await response.json();
  expect(response.status).toBe(body.ok ? 200 : body.error_code);
  return body;
}

/** Ids of the updates one `getUpdates` returns, counted from the first. */
async function poll(params: Record<string, unknown>, first = 700_000_001): Promise<number[]> {
  const { result } = await call('getUpdates', params);
  return (Array.isArray(result) ? result : []).map(
    (update: { update_id: number }) => update.update_id - first,
  );
}

describe('HTML', () => {
  it.each([
    ['<br>', 'Unsupported start tag "br" at byte offset 0'],
    ['é<p>x</p>', 'Unsupported start tag "p" at byte offset 2'],
    ['a <b', 'Unclosed start tag at byte offset 2'],
    ['a < b', 'Unsupported start tag "" at byte offset 2'],
    ['a < b > c', 'Unsupported start tag "" at byte offset 2'],
    ['<b>x', "Can't find end tag corresponding to start tag b"],
    ['<b>x</i>', 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'],
    ['x</b>', 'Unexpected end tag at byte offset 1'],
    ['<b>x</b', 'Unclosed end tag at byte offset 4'],
    ['<a href>x</a>', 'Expected equal sign in declaration of an attribute of the tag "a" at byte offset 0'],
    ['<span class="x">x</span>', 'Tag "span" must have class "tg-spoiler" at byte offset 0'],
    ['&#xD800;', 'Text contains invalid Unicode characters'],
  ])('%j is refused: %s', (source, why) => {
    expect(() => readHtml(source)).toThrow(`Bad Request: can't parse entities: ${why}`);
  });

  it.each([
    ['a & b &lt;&gt;&quot;&amp;&#65;&#x42; &nbsp;&copy', 'a & b <>"&AB &nbsp;&copy', []],
    ['<b>x</b>', 'x', ['bold 0 1']],
    ['<pre><code class="language-js">x</code></pre>', 'x', ['pre 0 1 js']],
    ['<a href="javascript:x">x</a>', 'x', []],
    ['<a href="https://x.test">👍</a>', '👍', ['text_link 0 2']],
    ['<B>x</>', 'x', ['bold 0 1']],
    ['  <i> x</i>\r\u202E\n ', 'x', ['italic 0 1']],
  ])('%j shows %j', (source, text, entities) => {
    const visible = cleanVisible(readHtml(source));
    expect(visible.text).toBe(text);
    const found = visible.entities.map(({ type, offset, length, language }) => [
      type,
      offset,
      length,
      language,
    ]);
    expect(found.map((entity) => entity.filter((part) => part !== undefined).join(' '))).toEqual(entities);
  });
});

describe('getUpdates', () => {
  it('confirms updates by offset, returns the last ones for a negative offset, and limits the batch', async () => {
    for (let i = 0; i < 5; i += 1) fake.says('1', `m${i}`, '1');
    expect(await poll({})).toEqual([0, 1, 2, 3, 4]);
    expect(await poll({ offset: 700_000_003, limit: 2 })).toEqual([2, 3]);
    expect(await poll({ offset: -1 })).toEqual([4]);
    expect(fake.updates.unconfirmed).toBe(1);
    fake.updates.unconfirm();
    expect(fake.updates.unconfirmed).toBe(2);
  });

  it('ends the older of two polls, and refuses every poll while a webhook is set', async () => {
    const older = call('getUpdates', { timeout: 50 });
    while (fake.updates.waiting === 0) await new Promise((next) => setImmediate(next));
    fake.says('2', 'for the newer', '2');
    await older;
    const waiting = call('getUpdates', { offset: 700_000_002, timeout: 50 });
    while (fake.updates.waiting === 0) await new Promise((next) => setImmediate(next));
    const newer = call('getUpdates', { offset: 700_000_002, timeout: 50 });
    expect((await waiting).description).toMatch(/^Conflict: terminated by other getUpdates request/);
    fake.updates.end();
    expect((await newer).ok).toBe(true);
    await call('setWebhook', { url: 'https://x.test' });
    expect((await call('getUpdates')).description).toMatch(
      /^Conflict: can't use getUpdates method while webhook/,
    );
  });

  it('leaves out kinds of updates that were not requested', async () => {
    await call('getUpdates', { allowed_updates: ['message'] });
    fake.update({ edited_message: { message_id: 1 } });
    fake.says('1', 'hi', '1');
    expect(await poll({})).toEqual([1]);
  });
});

describe('limits', () => {
  it('refuses a second call in a chat that comes too soon, and records callers that did not wait', async () => {
    fake.chats.open('1');
    expect((await call('sendMessage', { chat_id: 1, text: 'one' })).ok).toBe(true);
    const refused = await call('sendMessage', { chat_id: '1', text: 'two' });
    expect(refused).toMatchObject({
      error_code: 429,
      description: 'Too Many Requests: retry after 1',
      parameters: { retry_after: 1 },
    });
    await call('sendMessage', { chat_id: 1, text: 'three' });
    expect(fake.flood.violations).toHaveLength(1);
    expect(fake.screen('1')).toEqual(['one']);
  });

  it('fails the test when the bot did not wait', async () => {
    const strict = await FakeTelegram.start();
    strict.chats.open('1');
    strict.rateLimit(5);
    for (let i = 0; i < 2; i += 1) {
      const url = `${strict.root}/bot${FAKE_TOKEN}/sendMessage?chat_id=1&text=x`;
      expect((await fetch(url)).headers.get('retry-after')).toBe('5');
    }
    await expect(strict.close()).rejects.toThrow(/sendMessage for 1 came \d+ ms too early/);
  });

  it('allows a group 20 calls a minute and all chats together 30 a second', async () => {
    fake.chats.open('-5');
    for (let i = 0; i < 20; i += 1)
      expect((await call('sendMessage', { chat_id: -5, text: `${i}` })).ok).toBe(true);
    expect(
      (await call('sendMessage', { chat_id: -5, text: 'x' })).parameters?.['retry_after'],
    ).toBeGreaterThan(50);
    const answers: Answer[] = [];
    for (let i = 0; i < 31; i += 1) {
      fake.chats.open(`${100 + i}`);
      answers.push(await call('sendMessage', { chat_id: 100 + i, text: 'x' }));
    }
    expect(answers.some((answer) => answer.error_code === 429)).toBe(true);
  });
});

describe('refusals', () => {
  it.each([
    ['sendMessage', {}, 400, 'Bad Request: chat_id is empty'],
    ['sendMessage', { chat_id: 9, text: 'x' }, 400, 'Bad Request: chat not found'],
    ['sendMessage', { chat_id: 1 }, 400, 'Bad Request: message text is empty'],
    ['sendMessage', { chat_id: 1, text: ' \n\u0000' }, 400, 'Bad Request: message text is empty'],
    ['sendMessage', { chat_id: 1, text: 'x'.repeat(4_097) }, 400, 'Bad Request: message is too long'],
    ['sendMessage', { chat_id: 1, text: '\uD800' }, 400, 'Bad Request: strings must be encoded in UTF-8'],
    [
      'sendMessage',
      { chat_id: 1, text: 'x', message_thread_id: 1 },
      400,
      'Bad Request: message thread not found',
    ],
    [
      'sendMessage',
      { chat_id: 1, text: 'x', reply_parameters: { message_id: 8 } },
      400,
      'Bad Request: message to be replied not found',
    ],
    [
      'editMessageText',
      { chat_id: 1, message_id: 8, text: 'x' },
      400,
      'Bad Request: message to edit not found',
    ],
    [
      'sendChatAction',
      { chat_id: 1, action: 'dancing' },
      400,
      'Bad Request: wrong parameter action in request',
    ],
    [
      'setMyCommands',
      { commands: [{ command: 'Big', description: 'x' }] },
      400,
      'Bad Request: BOT_COMMAND_INVALID',
    ],
    [
      'setMyCommands',
      { commands: [], scope: { type: 'chat', chat_id: 9 } },
      400,
      'Bad Request: chat not found',
    ],
    [
      'setMyCommands',
      { commands: [], language_code: 'german' },
      400,
      'Bad Request: invalid language code specified',
    ],
    ['createForumTopic', { chat_id: 1, name: 'x' }, 400, 'Bad Request: the chat is not a forum'],
    [
      'editForumTopic',
      { chat_id: 1, message_thread_id: 2, name: 'x' },
      400,
      'Bad Request: the chat is not a forum',
    ],
    [
      'getFile',
      { file_id: 'unknown' },
      400,
      'Bad Request: wrong file_id or the file is temporarily unavailable',
    ],
    ['flyToTheMoon', {}, 404, 'Not Found: method not found'],
  ])('%s %j is %i %s', async (method, params, status, description) => {
    fake.chats.open('1');
    expect(await call(method, params)).toMatchObject({ ok: false, error_code: status, description });
  });

  it('distinguishes a malformed token from a wrong one', async () => {
    expect((await call('getMe', {}, 'x')).description).toBe('Unauthorized: invalid token specified');
    expect((await call('getMe', {}, '1:wrong')).description).toBe('Unauthorized');
  });

  it('serves files of up to 20 MB, at a path that is useless without the token', async () => {
    const mb = 1024 * 1024;
    const file = (size: number): string => {
      const { document } = fake.files.document({ bytes: Buffer.from('x'), name: 'a.pdf', size });
      return (document as { file_id: string }).file_id;
    };
    const { result } = await call('getFile', { file_id: file(20 * mb) });
    expect(result).toMatchObject({
      file_size: 20 * mb,
      file_path: expect.stringMatching(/^documents\/.*pdf$/),
    });
    const description = 'Bad Request: file is too big';
    expect(await call('getFile', { file_id: file(20 * mb + 1) })).toMatchObject({
      error_code: 400,
      description,
    });
    const { file_path: path } = result as { file_path: string };
    const get = async (token: string): Promise<string> =>
      await (await fetch(`${fake.root}/file/bot${token}/${path}`)).text();
    expect(await get(FAKE_TOKEN)).toBe('x');
    expect(await get('1:wrong')).toContain('Not Found');
  });
});
