/** What Meta posts to the WhatsApp plug-in, and what the gateway gets of it. Payloads: github.com/facebook/openapi. */
import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import manifest from '../../../plugins/whatsapp/parley.plugin.json' with { type: 'json' };
import { channel } from '../../../plugins/whatsapp/main.ts';
import type { PluginChannel } from '../../../src/protocol/plugin.ts';
import { FakeHost } from '../../fakes/plugins/host.ts';
import { FakeWhatsApp, PHONE_ID, WHATSAPP_SECRET } from '../../fakes/whatsapp/whatsapp.ts';

const ADA = '491701234567';
let fake: FakeWhatsApp;
let host: FakeHost;
let whatsapp: PluginChannel;

beforeEach(async () => {
  fake = await FakeWhatsApp.open();
  host = new FakeHost(manifest, fake.settings);
  whatsapp = channel(host);
});
afterEach(() => fake.close());

function entry(value: object, field = 'messages', id = PHONE_ID): string {
  const metadata = { display_phone_number: '15550783881', phone_number_id: id };
  const changes = [{ field, value: { messaging_product: 'whatsapp', metadata, ...value } }];
  return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] });
}

async function post(body: string | Buffer, secret = WHATSAPP_SECRET): Promise<number | undefined> {
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  const headers = { 'x-hub-signature-256': signature };
  const answer = await whatsapp.webhook?.({ method: 'POST', query: '', headers, body: Buffer.from(body) });
  return answer?.status;
}

async function says(message: object): Promise<unknown> {
  const messages = [{ from: ADA, id: 'wamid.A', timestamp: '1750275992', ...message }];
  const contacts = [{ wa_id: ADA, profile: { name: 'Ada' } }];
  expect(await post(entry({ contacts, messages }))).toBe(200);
  return host.received.at(-1);
}

describe('messages', () => {
  it.each([
    [
      { type: 'text', text: { body: 'hi' } },
      { content: 'hi', senderName: 'Ada', timestamp: 1750275992000 },
    ],
    [
      {
        type: 'location',
        location: { latitude: 37.44, longitude: -122.16, name: 'Philz', address: '101 Forest' },
      },
      { content: '[location Philz, 101 Forest, 37.44, -122.16]' },
    ],
    [
      {
        type: 'contacts',
        contacts: [{ name: { formatted_name: 'Lucía\nGómez]' }, phones: [{ phone: '+1 983' }], emails: [] }],
      },
      { content: '[contact Lucía Gómez , +1 983]' },
    ],
    [
      { type: 'order', order: { text: 'soon', product_items: [{}, {}] } },
      { content: '[order 2 products, soon]' },
    ],
    [
      { type: 'unsupported', errors: [{ code: 131051, title: 'Message type unknown' }] },
      { content: '[message of a kind that WhatsApp does not pass on Message type unknown]' },
    ],
    [{ type: 'button', button: { payload: 'x', text: 'Unsubscribe' } }, { content: 'Unsubscribe' }],
    [
      {
        type: 'interactive',
        context: { id: 'wamid.Q' },
        interactive: { type: 'list_reply', list_reply: { id: 'v', title: 'T' } },
      },
      { content: '', button: 'v', buttonUnder: { id: 'wamid.Q' } },
    ],
    [{ type: 'reaction', reaction: { message_id: 'wamid.Q', emoji: '🛑' } }, { content: '/stop' }],
    [
      { type: 'text', text: { body: 'fwd' }, context: { forwarded: true } },
      { content: 'fwd', forwarded: true },
    ],
    [
      {
        type: 'edit',
        edit: { original_message_id: 'wamid.O', message: { type: 'text', text: { body: 'better' } } },
      },
      { content: 'better', isEdit: true, messageId: 'wamid.O' },
    ],
    [
      { type: 'audio', audio: { id: '42', mime_type: 'audio/ogg; codecs=opus', voice: true } },
      { content: '', media: [{ kind: 'voice', url: '42', mimeType: 'audio/ogg; codecs=opus' }] },
    ],
    [
      { type: 'sticker', sticker: { id: '43', mime_type: 'image/webp' } },
      { content: '', media: [{ kind: 'image', url: '43' }] },
    ],
    [
      { type: 'image', image: { id: '44', mime_type: 'image/jpeg', caption: 'Taj Mahal' } },
      { content: 'Taj Mahal', media: [{ kind: 'image' }] },
    ],
  ])('of every kind arrive as what they say: %j', async (message, expected) => {
    expect(await says(message)).toMatchObject({ chatId: ADA, place: 'private', ...expected });
  });

  it.each([
    [{ type: 'reaction', reaction: { message_id: 'wamid.Q', emoji: '👍' } }],
    [{ type: 'system', system: { body: 'changed', type: 'user_changed_number', wa_id: '1' } }],
    [{ type: 'revoke', revoke: { original_message_id: 'wamid.O' } }],
    [{ type: 'text', text: { body: 'in a group' }, group_id: 'G1' }],
    [{ type: 'text' }],
  ])('that no one can answer are acknowledged and left out: %j', async (message) => {
    await says(message);
    expect(host.received).toEqual([]);
    expect(host.lines.join()).toContain('whatsapp_message_left_out');
    expect(host.lines.join()).not.toContain(ADA);
  });

  it('of a person who hides their number come from their id, and are answered there', async () => {
    const id = 'US.13491208655302741918';
    const messages = [
      { from_user_id: id, id: 'wamid.B', timestamp: '1750275992', type: 'text', text: { body: 'hi' } },
    ];
    expect(await post(entry({ contacts: [{ user_id: id, profile: { username: 'ada' } }], messages }))).toBe(
      200,
    );
    expect(host.received).toMatchObject([{ chatId: id, senderId: id, senderName: 'ada' }]);
    await whatsapp.send({
      chatId: id,
      body: { text: 'yo', plain: 'yo' },
      plain: false,
      buttons: [],
      nonce: 'n',
    });
    expect(fake.messages[0]?.out).toMatchObject({ recipient: id });
    expect(fake.messages[0]?.out).not.toHaveProperty('to');
  });

  it('that reply to one that is remembered quote it, whoever wrote it', async () => {
    await says({ id: 'wamid.1', type: 'text', text: { body: 'the first' } });
    const reply = { type: 'text', text: { body: 'this one' } };
    expect(await says({ ...reply, id: 'wamid.2', context: { id: 'wamid.1', from: ADA } })).toMatchObject({
      quoted: { by: 'sender', text: 'the first' },
    });
    const part = {
      chatId: ADA,
      body: { text: 'mine', plain: 'mine' },
      plain: false,
      buttons: [],
      nonce: 'n',
    };
    const { id } = await whatsapp.send(part);
    expect(await says({ ...reply, id: 'wamid.3', context: { id, from: '15550783881' } })).toMatchObject({
      quoted: { by: 'bot', text: 'mine' },
    });
    expect(await says({ ...reply, id: 'wamid.4', context: { id: 'wamid.gone' } })).not.toHaveProperty(
      'quoted',
    );
  });
});

describe('posts', () => {
  const hello = entry({
    messages: [{ from: ADA, id: 'w', timestamp: '1', type: 'text', text: { body: 'x' } }],
  });

  it('are refused unless exactly these bytes are signed', async () => {
    expect(await post(hello, 'another secret')).toBe(401);
    const headers = {
      'x-hub-signature-256': `sha256=${createHmac('sha256', WHATSAPP_SECRET).update(hello).digest('hex')}`,
    };
    const changed = Buffer.from(`${hello} `);
    expect(await whatsapp.webhook?.({ method: 'POST', query: '', headers, body: changed })).toEqual({
      status: 401,
    });
    expect(await whatsapp.webhook?.({ method: 'POST', query: '', headers: {}, body: changed })).toEqual({
      status: 401,
    });
    expect(await whatsapp.webhook?.({ method: 'PUT', query: '', headers, body: changed })).toEqual({
      status: 405,
    });
    expect(host.received).toEqual([]);
  });

  it('are to come again while the gateway cannot store them', async () => {
    host.verdict = () => Promise.reject(Object.assign(new Error('no database'), { code: 'unavailable' }));
    expect(await post(hello)).toBe(503);
    host.verdict = () => Promise.resolve({ kind: 'accepted' });
    expect(await post(hello)).toBe(200);
  });

  it('of other numbers and fields are acknowledged, and one unreadable message does not keep the next', async () => {
    const messages = [
      { id: 7 },
      { from: ADA, id: 'w2', timestamp: '1', type: 'text', text: { body: 'readable' } },
    ];
    expect(await post(entry({ messages }, 'messages', '999'))).toBe(200);
    expect(await post(entry({ messages }, 'smb_message_echoes'))).toBe(200);
    expect(host.received).toEqual([]);
    expect(await post(entry({ messages }))).toBe(200);
    expect(host.contents).toEqual(['readable']);
  });

  it('of any content are acknowledged once they are signed, and throw nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.json(),
          fc.string(),
          fc
            .json()
            .map((text) => entry({ messages: [text, JSON.parse(text)], statuses: [JSON.parse(text)] })),
        ),
        async (body) => {
          expect(await post(body)).toBe(200);
        },
      ),
      { numRuns: 200 },
    );
    expect(await post(Buffer.alloc(1_048_576, '['))).toBe(200);
  });

  it('are marked as read only when the gateway accepts the message', async () => {
    host.verdict = () => Promise.resolve({ kind: 'refused' });
    await says({ id: 'wamid.no', type: 'text', text: { body: 'x' } });
    host.verdict = () => Promise.resolve({ kind: 'accepted' });
    await says({ id: 'wamid.yes', type: 'text', text: { body: 'x' } });
    await whatsapp.typing?.({ chatId: ADA });
    expect(fake.reads).toEqual([
      { id: 'wamid.yes', typing: false },
      { id: 'wamid.yes', typing: true },
    ]);
  });
});

it('reports what became of messages in the log, without numbers', async () => {
  const errors = [{ code: 131026, title: `Message to ${ADA} undeliverable` }];
  const statuses = [{ id: 'wamid.X', status: 'failed', recipient_id: ADA, errors }];
  expect(await post(entry({ statuses }))).toBe(200);
  await vi.waitFor(() => expect(host.lines.join()).toContain('131026'));
  expect(host.lines.join()).not.toContain(ADA);
});
