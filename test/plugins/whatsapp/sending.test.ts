/** What the WhatsApp plug-in sends: buttons, files, replies, and what it does with refusals. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import manifest from '../../../plugins/whatsapp/parley.plugin.json' with { type: 'json' };
import { RefusalCounts, toFailure } from '../../../plugins/whatsapp/failures.ts';
import { MAX_HELD } from '../../../plugins/whatsapp/backlog.ts';
import { channel } from '../../../plugins/whatsapp/main.ts';
import { MAX_REMEMBERED, put } from '../../../plugins/whatsapp/outcomes.ts';
import { bodiesOf, MAX_LENGTH } from '../../../plugins/whatsapp/sending.ts';
import type { PluginChannel, PluginPart } from '../../../src/protocol/plugin.ts';
import { FakeHost } from '../../fakes/plugins/host.ts';
import { choicesOf } from '../../fakes/whatsapp/shown.ts';
import { FakeWhatsApp } from '../../fakes/whatsapp/whatsapp.ts';
import { Outgoing } from '../../fakes/whatsapp/requests.ts';

const ADA = '491701234567';
let fake: FakeWhatsApp;
let host: FakeHost;
let whatsapp: PluginChannel;

beforeEach(async () => {
  fake = await FakeWhatsApp.open();
  host = new FakeHost(manifest, { ...fake.settings, WHATSAPP_TEMPLATE: 'answer_ready:de' });
  whatsapp = channel(host);
});
afterEach(() => fake.close());

const part = (text: string, more: Partial<PluginPart> = {}): PluginPart => ({
  chatId: ADA,
  body: { text, plain: text },
  plain: false,
  buttons: [],
  nonce: text,
  ...more,
});
const buttons = (count: number, label = 'Choice') =>
  Array.from({ length: count }, (_, at) => ({ label: `${label} ${at + 1}`, value: `value ${at + 1}` }));
const failure = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('buttons', () => {
  it.each([
    [1, 'button', 1],
    [3, 'button', 1],
    [4, 'list', 1],
    [10, 'list', 1],
    [11, 'list', 2],
  ])('%i of them are shown as %s in %i messages', async (count, type, messages) => {
    await whatsapp.send(part('Which one?', { buttons: buttons(count) }));
    expect(fake.visible(ADA)).toHaveLength(messages);
    expect(fake.visible(ADA)[0]?.out).toMatchObject({ type: 'interactive', interactive: { type } });
    expect(
      fake
        .visible(ADA)
        .flatMap(({ out }) => choicesOf(out))
        .map(({ id }) => id),
    ).toEqual(buttons(count).map(({ value }) => value));
  });

  it('with labels of more than 20 characters are a list, whose rows have them whole; equal ones differ', async () => {
    const long = 'Always approve this tool in this chat';
    const all = [
      { label: long, value: 'a' },
      { label: long, value: 'b' },
    ];
    await whatsapp.send(part('?', { buttons: all }));
    const [{ out } = fake.messages[0] ?? { out: undefined }] = fake.messages;
    expect(out).toMatchObject({
      interactive: { action: { sections: [{ rows: [{ description: long }, { description: long }] }] } },
    });
  });

  it('stand below the end of a text that is too long for them, and no code is torn apart', () => {
    const code = `\`\`\`\n${'x = 1;\n'.repeat(300)}\`\`\``;
    const bodies = bodiesOf(`Run this?\n\n${code}`, buttons(2), 'Options');
    expect(bodies).toHaveLength(2);
    for (const body of bodies) {
      const out = Outgoing.parse({ messaging_product: 'whatsapp', to: ADA, ...body });
      const text =
        out.type === 'text' ? out.text.body : out.type === 'interactive' ? out.interactive.body.text : '';
      expect((text.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
  });
});

describe('refusals', () => {
  const answer = (code: number, details = '', status = 400) =>
    toFailure(
      status,
      new Headers(),
      JSON.stringify({ error: { code, message: 'm', error_data: { details } } }),
      {
        counts: new RefusalCounts(),
        chatId: ADA,
      },
    );

  it.each([
    [190, 'unauthorized'],
    [10, 'unauthorized'],
    [200, 'unauthorized'],
    [4, 'rate_limited'],
    [80007, 'rate_limited'],
    [130429, 'rate_limited'],
    [131048, 'rate_limited'],
    [131056, 'rate_limited'],
    [131000, 'unavailable'],
    [131016, 'unavailable'],
    [131026, 'blocked'],
    [131047, 'rejected'],
    [131051, 'rejected'],
  ])('%i means %s', (code, expected) => {
    expect(answer(code)).toMatchObject({ code: expected, graphCode: code });
  });

  it('of one person take longer each time, 4 to the power of their number in seconds, until one succeeds', () => {
    const counts = new RefusalCounts();
    const waits = Array.from({ length: 6 }, () => counts.next(ADA));
    expect(waits).toEqual([1_000, 4_000, 16_000, 64_000, 256_000, 256_000]);
    counts.clear(ADA);
    expect(counts.next(ADA)).toBe(1_000);
  });

  it('of a reply whose message is gone ask for it without the reply, and no detail shows a number', () => {
    expect(answer(131009, 'context.message_id is not valid')).toMatchObject({ code: 'place_gone' });
    expect(answer(131021, `sender ${ADA} is the recipient`).message).not.toContain(ADA);
  });
});

describe('24 hours after the last word of a person', () => {
  beforeEach(() => {
    fake.templates.add('answer_ready');
    fake.webhook = 'http://127.0.0.1:1/';
    fake.reports = false;
  });

  it('a template asks them to write, once, and what waits follows as soon as they do', async () => {
    fake.closedWindows.set(ADA, 'sync');
    expect(await whatsapp.send(part('good morning'))).toMatchObject({ metadata: { held: 'yes' } });
    await whatsapp.send(part('and the news'));
    await expectHeld();
  });

  it('the same holds where WhatsApp accepts a message first, and reports that it failed', async () => {
    fake.closedWindows.set(ADA, 'later');
    await whatsapp.send(part('good morning'));
    await whatsapp.send(part('and the news'));
    expect(fake.screen(ADA)).toEqual([]);
    for (const nonce of fake.nonces) await fails(nonce);
    await expectHeld();
  });

  async function expectHeld(): Promise<void> {
    expect(fake.screen(ADA)).toEqual(['[template answer_ready]']);
    expect(fake.messages[0]?.out).toMatchObject({ template: { language: { code: 'de' } } });
    fake.closedWindows.clear();
    await says('yes?');
    expect(fake.screen(ADA)).toEqual(['[template answer_ready]', 'good morning', 'and the news']);
    await says('again');
    expect(fake.screen(ADA)).toHaveLength(3);
  }

  it('without a template, the reason says which setting brings one', async () => {
    const { WHATSAPP_TEMPLATE: _, ...settings } = host.settings;
    whatsapp = channel(new FakeHost(manifest, settings));
    fake.closedWindows.set(ADA, 'sync');
    expect(await failure(whatsapp.send(part('hello?')))).toMatchObject({
      code: 'rejected',
      message: expect.stringContaining('WHATSAPP_TEMPLATE'),
    });
  });

  it(`no more than ${MAX_HELD} characters are held for one person`, async () => {
    fake.closedWindows.set(ADA, 'sync');
    await whatsapp.send(part('x'.repeat(MAX_HELD - 100)));
    expect(await failure(whatsapp.send(part('y'.repeat(100))))).toMatchObject({ code: 'rejected' });
  });

  async function hook(value: object): Promise<void> {
    const { createHmac } = await import('node:crypto');
    const metadata = { phone_number_id: fake.settings['WHATSAPP_PHONE_ID'] };
    const changes = [{ field: 'messages', value: { metadata, ...value } }];
    const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ changes }] });
    const digest = createHmac('sha256', fake.settings['WHATSAPP_APP_SECRET'] ?? '')
      .update(body)
      .digest('hex');
    const headers = { 'x-hub-signature-256': `sha256=${digest}` };
    const answer = await whatsapp.webhook?.({ method: 'POST', query: '', headers, body: Buffer.from(body) });
    expect(answer?.status).toBe(200);
  }

  async function says(text: string): Promise<void> {
    await hook({
      messages: [{ from: ADA, id: `wamid.${text}`, timestamp: '1', type: 'text', text: { body: text } }],
    });
  }

  async function fails(nonce: string): Promise<void> {
    const errors = [{ code: 131047, title: 'Re-engagement message' }];
    await hook({
      statuses: [
        { id: 'wamid.f', status: 'failed', recipient_id: ADA, biz_opaque_callback_data: nonce, errors },
      ],
    });
  }
});

describe('files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it.each([
    ['image', 'photo.png', 'image/png', undefined, 'image'],
    ['voice', 'said.ogg', 'audio/ogg', undefined, 'audio'],
    ['voice', 'said.ogg', 'audio/ogg', 'with words', 'document'],
    ['video', 'film.mp4', 'video/mp4', 'look', 'video'],
    ['file', 'photo.png', 'image/png', 'as it is', 'image'],
    ['file', 'data.zip', 'application/zip', undefined, 'document'],
    ['file', 'table.csv', 'text/csv; charset=utf-8', undefined, 'document'],
  ] as const)(
    '%s %s of type %s with the caption %s is sent as %s %s',
    async (kind, name, mimeType, caption, type) => {
      const file = path.join(folder, 'file');
      await writeFile(file, 'bytes');
      const text = caption === undefined ? undefined : { text: caption, plain: caption };
      await whatsapp.sendFile?.({
        chatId: ADA,
        kind,
        name,
        mimeType,
        bytes: 5,
        path: file,
        caption: text,
        nonce: name,
      });
      expect(fake.messages).toMatchObject([{ out: { type }, file: { name } }]);
    },
  );
});

describe('a repeated attempt', () => {
  it('sends nothing when the one before was confirmed, or WhatsApp has reported it', async () => {
    const first = await whatsapp.send(part('once'));
    expect(await whatsapp.send(part('once'))).toEqual(first);
    const next = channel(new FakeHost(manifest, fake.settings, host.stored));
    expect(await next.send(part('once'))).toEqual(first);
    expect(fake.screen(ADA)).toEqual(['once']);
  });

  it('sends again when nothing is known of the one before', async () => {
    fake.failures.push({ kind: 'status', status: 503, match: /messages/ });
    expect(await failure(whatsapp.send(part('later')))).toMatchObject({ code: 'unavailable' });
    await whatsapp.send(part('later'));
    expect(fake.screen(ADA)).toEqual(['later']);
  });
});

it('gives the token to no host but the API and its media', async () => {
  const signal = new AbortController().signal;
  fake.mediaRoot = 'https://media.example.net';
  const id = fake.keeps('x.txt', Buffer.from('x'));
  const error = await failure(Promise.resolve(whatsapp.download?.({ kind: 'file', url: id }, signal)));
  expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining('media.example.net') });
  const foreign = whatsapp.download?.({ kind: 'file', url: '../me?fields=token' }, signal);
  expect(await failure(Promise.resolve(foreign))).toMatchObject({ code: 'rejected' });
});

it('tells `parley doctor` whose number it is, that a token is refused, and what no template costs', async () => {
  const signal = new AbortController().signal;
  expect(await whatsapp.check?.(signal)).toMatchObject([
    { level: 'ok', text: expect.stringContaining('Parley') },
  ]);
  fake.failures.push({ kind: 'refuse', match: /fields=|\/\d+ $/, status: 401, code: 190 });
  expect(await whatsapp.check?.(signal)).toMatchObject([{ level: 'error' }]);
  const { WHATSAPP_TEMPLATE: _, ...settings } = host.settings;
  const bare = channel(new FakeHost(manifest, settings));
  expect(await bare.check?.(signal)).toMatchObject([{ level: 'ok' }, { level: 'warning' }]);
});

it('promises in its manifest what it sends, and remembers a limited number of messages', () => {
  expect(manifest.channel.capabilities.maxLength).toBe(MAX_LENGTH);
  const map = new Map<string, number>();
  for (let at = 0; at <= MAX_REMEMBERED; at += 1) put(map, String(at), at);
  expect([map.size, map.has('0'), map.has('1')]).toEqual([MAX_REMEMBERED, false, true]);
});
