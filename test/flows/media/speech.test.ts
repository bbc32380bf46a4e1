/**
 * Spoken answers, through a whole gateway: played in each chat and over HTTP, never waited for, reported once where
 * they fail.
 */
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { eventsUntil } from '../../channels/http/client.ts';
import { OGG } from '../../fakes/media/media-bytes.ts';
import { type FakeSpeech, startFakeSpeech } from '../../fakes/media/speech.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const servers: FakeSpeech[] = [];
const options = { telegram: true, discord: true, furnish, env: { SPEECH_KEY: 'speech-key' } };

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

/** The server of the running gateway. */
function server(): FakeSpeech {
  const newest = servers.at(-1);
  if (newest === undefined) throw new Error('no server has been started');
  return newest;
}

/** Settings that name a text-to-speech server. */
async function furnish(home: string): Promise<void> {
  servers.push(await startFakeSpeech('speech-key'));
  await save(home, { speech: { baseUrl: server().url, apiKeyEnv: 'SPEECH_KEY', maxChars: 100 } });
}

async function save(home: string, more: object): Promise<void> {
  const file = { access: { telegram: { allow: FRIENDS }, discord: { dm: 'open' } }, ...more };
  await writeFile(path.join(home, 'next.json'), JSON.stringify(file), { mode: 0o600 });
  await rename(path.join(home, 'next.json'), path.join(home, 'config.json'));
}

describeGateway('spoken answers', options, (fixture) => {
  const screen = (chat: string) => fixture().telegram.screen(chat);
  /** Waits until the newest messages on Telegram are these. */
  const shows = (chat: string, ...texts: string[]) =>
    vi.waitFor(() => expect(screen(chat).slice(-texts.length)).toEqual(texts), WAIT);
  const someone = (): string => people.next().value ?? '';
  const switchOn = async (chat: string): Promise<void> => {
    fixture().telegram.says(chat, '/voice on', chat);
    await shows(chat, expect.stringContaining('Answers here are also spoken'));
  };
  const ask = (chat: string, said: string, text: string): void => {
    fixture().ollama.answer({ text }, { when: `${said} ${chat}` });
    fixture().telegram.says(chat, `${said} ${chat}`, chat);
  };
  const spokenIn = (text: string) => server().spoken.filter(({ input }) => input.includes(text));

  it('follow their text as a voice message on Telegram, once /voice is on, until it is off', async () => {
    const chat = someone();
    ask(chat, 'silent', 'Only text.');
    await shows(chat, 'Only text.');
    await switchOn(chat);
    ask(chat, 'greet', `**Hello**, ${chat}!`);
    await shows(chat, `Hello, ${chat}!`, '[voice answer.ogg]');
    expect(fixture().telegram.messages(chat).at(-1)?.file?.bytes).toEqual(OGG);
    expect(spokenIn(chat)).toEqual([
      { model: 'tts-1', voice: 'alloy', input: `Hello, ${chat}!`, response_format: 'opus' },
    ]);
    fixture().telegram.says(chat, '/voice off', chat);
    await shows(chat, expect.stringContaining('Answers here are not spoken'));
    ask(chat, 'quiet', `Quiet, ${chat}.`);
    await shows(chat, `Quiet, ${chat}.`);
    await fixture().idle(`telegram:${chat}`);
    expect(spokenIn(`Quiet, ${chat}`)).toEqual([]);
  });

  it('are a voice message on Discord', async () => {
    const { discord } = fixture();
    const { channel, person } = discord.dm();
    discord.says(channel, '/voice on', person);
    await vi.waitFor(() => expect(discord.screen(channel).at(-1)).toContain('also spoken'), WAIT);
    fixture().ollama.answer({ text: 'Hello on Discord!' }, { when: `hi ${channel.id}` });
    discord.says(channel, `hi ${channel.id}`, person);
    await vi.waitFor(
      () =>
        expect(discord.screen(channel).slice(-2)).toEqual([
          'Hello on Discord!',
          expect.stringMatching(/^\[(voice|file)/),
        ]),
      WAIT,
    );
  });

  it('are a file of the session over HTTP, announced by an event', async () => {
    const command = { json: { content: '/voice on' } };
    await fixture().call('/v1/sessions/http:spoken/messages', command);
    const events = await fixture().call('/v1/sessions/http:spoken/events');
    fixture().ollama.answer({ text: 'Hello over HTTP!' }, { when: 'spoken hello' });
    await fixture().post('spoken', 'spoken hello');
    const isSpeech = { content: '', attachments: [{ kind: 'voice', name: 'answer.ogg', bytes: OGG.length }] };
    const { events: told } = await eventsUntil(events, ({ type }) => type === 'message_sent');
    expect(told.at(-1)).toMatchObject({ type: 'message_sent', ...isSpeech });
    expect((await fixture().messages('http:spoken')).at(-1)).toMatchObject({
      role: 'assistant',
      ...isSpeech,
    });
  });

  it('are cut after a sentence if they are long, and report it; code and addresses are not spoken', async () => {
    const chat = someone();
    await switchOn(chat);
    const code = '```js\nalert(1)\n```';
    ask(chat, 'long', `First ${chat}.\n\n${code}\n\nSee https://example.org. ${'Then this. '.repeat(20)}`);
    await shows(chat, '[voice answer.ogg] Only the beginning is spoken; the whole answer is the text above.');
    const [{ input } = { input: '' }] = spokenIn(`First ${chat}`);
    expect(input).toMatch(/^First \d+\.\nSee\.(?: Then this\.)+$/);
    expect(input.length).toBeLessThanOrEqual(100);
    expect(input).not.toMatch(/alert|example/);
  });

  it('never delay a text: the next one is answered while the first is still being spoken', async () => {
    const chat = someone();
    await switchOn(chat);
    const release = server().hold();
    ask(chat, 'first', 'First text.');
    await shows(chat, 'First text.');
    await vi.waitFor(() => expect(spokenIn('First text.')).toHaveLength(1), WAIT);
    ask(chat, 'second', 'Second text.');
    await shows(chat, 'First text.', 'Second text.');
    release();
    await shows(chat, '[voice answer.ogg]', '[voice answer.ogg]');
  });

  it('fail with one line in the log and one sentence in the chat, and work again once the server is back', async () => {
    const chat = someone();
    await switchOn(chat);
    const failed = (): number =>
      fixture().log.filter((line) => line.includes('answer_not_spoken') && line.includes(chat)).length;
    const refusal = '{"error":{"message":"no such voice"}}';
    for (let n = 0; n < 2; n += 1) server().fails(400, refusal);
    ask(chat, 'one', 'Text one.');
    await shows(
      chat,
      'Text one.',
      expect.stringMatching(/could not be spoken: .*"no such voice"\..*\/voice off/),
    );
    ask(chat, 'two', 'Text two.');
    await shows(chat, 'Text two.');
    await vi.waitFor(() => expect(failed()).toBe(2), WAIT);
    ask(chat, 'three', 'Text three.');
    await shows(chat, 'Text two.', 'Text three.', '[voice answer.ogg]');
  });

  it('need a server: /voice on explains what to set, and a change of config.json applies at once', async () => {
    const { home } = fixture();
    const chat = someone();
    await save(home, {});
    const refusal = expect.stringContaining('set speech.baseUrl in config.json');
    await vi.waitFor(async () => {
      fixture().telegram.says(chat, '/voice on', chat);
      await vi.waitFor(() => expect(screen(chat).at(-1)).toEqual(refusal), { timeout: 500 });
    }, WAIT);
    await save(home, { speech: { baseUrl: server().url, apiKeyEnv: 'SPEECH_KEY' } });
    await vi.waitFor(async () => {
      fixture().telegram.says(chat, '/voice on', chat);
      await vi.waitFor(() => expect(screen(chat).at(-1)).toContain('also spoken'), { timeout: 500 });
    }, WAIT);
  });
});

describeGateway('a gateway without a text-to-speech server', {}, (fixture) => {
  it('explains over HTTP what to set', async () => {
    const answer = await fixture().call('/v1/sessions/http:mute/messages', {
      json: { content: '/voice on' },
    });
    expect(JSON.stringify(await answer.json())).toContain('set speech.baseUrl in config.json');
  });
});
