/** Messages in groups that one person sees, over the channel: sent, edited again as the same delivery, and deleted. */
import { expect, it } from 'vitest';
import { create } from '../../../channels/telegram/index.ts';
import type { OutboundPart } from '../../../src/protocol/channel.ts';
import { saysHidden } from '../../fakes/telegram/hidden.ts';
import { telegramConfig, telegramDeps } from './setup.ts';
import { startFake } from './started.ts';

const GROUP = '-1005';
const ADA = '31';

async function open() {
  const fake = await startFake();
  const chat = fake.chats.open(GROUP);
  const channel = create(telegramConfig(fake.root), telegramDeps());
  const seen = (): string[] => fake.hidden.seenBy(GROUP, ADA);
  return { fake, chat, channel, seen };
}

function part(text: string, more: Partial<OutboundPart> = {}): OutboundPart {
  const body = { text, plain: text, length: text.length };
  return { channel: 'telegram', chatId: GROUP, body, buttons: [], nonce: 'n', onlyFor: ADA, ...more };
}

it('is edited and deleted as a hidden message', async () => {
  const { fake, chat, channel, seen } = await open();
  chat.botIsAdmin = true;
  const sent = await channel.send(part('<b>first</b>'));
  expect(seen()).toEqual(['first']);
  expect(await channel.edit?.(sent, part('second'))).toBe(sent);
  expect(seen()).toEqual(['second']);
  await channel.delete?.(sent, part(''));
  expect(seen()).toEqual([]);
  // Telegram forgets them over time.
  await channel.edit?.(sent, part('third'));
  await channel.delete?.(sent, part(''));
  expect(fake.screen(GROUP)).toEqual([]);
});

it('answers a hidden message as a reply to it, and publicly when that is too late', async () => {
  const { fake, channel, seen } = await open();
  const id = String(saysHidden(fake, GROUP, '/status', ADA));
  await channel.send(part('in time', { repliesHidden: true, replyTo: id }));
  expect(seen()).toEqual(['in time']);
  await channel.send(part('too late', { repliesHidden: true, replyTo: '999' }));
  expect(fake.screen(GROUP)).toEqual(['too late']);
});

it('is for everyone in a private chat, and for an anonymous administrator', async () => {
  const { fake, chat, channel, seen } = await open();
  chat.botIsAdmin = true;
  fake.chats.open(ADA);
  await channel.send(part('alone anyway', { chatId: ADA }));
  await channel.send(part('to nobody in particular', { onlyFor: GROUP }));
  expect([fake.screen(ADA), fake.screen(GROUP)]).toEqual([['alone anyway'], ['to nobody in particular']]);
  expect(seen()).toEqual([]);
});

it('is tried again after an outage, and shown once', async () => {
  const { fake, chat, channel, seen } = await open();
  chat.botIsAdmin = true;
  fake.failure({ kind: 'status', method: 'sendMessage', status: 502, description: 'Bad Gateway' });
  await expect(channel.send(part('hello'))).rejects.toMatchObject({ code: 'unavailable' });
  await channel.send(part('hello'));
  expect([seen(), fake.screen(GROUP)]).toEqual([['hello'], []]);
});
