/** The contract suite that every channel passes: its promises to the gateway and to its users, tested over real sockets. */
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OutboundPart } from '../../src/protocol/channel.ts';
import { ChannelError, GatewayError } from '../../src/protocol/errors.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import type { Receipt, Receive } from '../../src/protocol/receive.ts';
import { commandContract } from './channel-commands.ts';
import { sentFilesContract } from './channel-files.ts';
import { ACCEPTED, type ChannelHarness, type ChannelRequirement, WAIT } from './channel-harness.ts';
import { deletionContract } from './channel-deletions.ts';
import { downloadContract } from './channel-downloads.ts';
import { groupContract } from './channel-groups.ts';
import { renderingContract } from './channel-rendering.ts';
import { HOSTILE_TEXTS } from './hostile-texts.ts';

/** Runs the suite over one channel; each test gets a fresh harness, closed after it. */
export function channelContract(
  name: string,
  makeHarness: () => Promise<ChannelHarness>,
  exempt: Partial<Record<ChannelRequirement, string>> = {},
): void {
  let harness: ChannelHarness;
  let received: InboundMessage[];
  const receive: Receive = (message) => {
    received.push(message);
    return Promise.resolve(ACCEPTED);
  };
  const contents = (): string[] => received.map((message) => message.content);
  const requires = (requirement: ChannelRequirement): boolean => exempt[requirement] === undefined;

  describe(`the channel ${name}`, () => {
    beforeEach(async () => {
      received = [];
      harness = await makeHarness();
    });
    afterEach(async () => {
      await harness.channel.stop();
      await harness.close();
    });

    it('states a reason for every requirement it is exempt from', () => {
      for (const reason of Object.values(exempt)) expect(reason).toMatch(/\w+ \w+ \w+/);
    });

    describe('receiving', () => {
      it('reports ids as strings, the same each time, and what was written', async () => {
        await harness.channel.start(receive);
        harness.says(harness.chats[0], 'first');
        harness.says(harness.chats[0], 'second');
        await vi.waitFor(() => expect(contents()).toEqual(['first', 'second']), WAIT);
        for (const message of received) {
          expect(message).toMatchObject({ ...harness.chats[0], channel: name, place: 'private' });
          expect(message.id).toMatch(/./);
          expect(Math.abs(message.timestamp - Date.now())).toBeLessThan(60_000);
        }
        expect(received[0]?.id).not.toBe(received[1]?.id);
      });

      it('receives the next message while the turn of the first is still running, in order', async () => {
        await harness.channel.start(receive);
        const words = ['one', 'two', 'three', 'four', 'five'];
        for (const word of words) harness.says(harness.chats[0], word);
        await vi.waitFor(() => expect(contents()).toEqual(words), WAIT);
      });

      it('never mixes two chats', async () => {
        await harness.channel.start(receive);
        for (let i = 0; i < 5; i += 1)
          for (const chat of harness.chats) harness.says(chat, `${chat.chatId} ${i}`);
        await vi.waitFor(() => expect(received).toHaveLength(10), WAIT);
        for (const message of received) expect(message.content.split(' ')[0]).toBe(message.chatId);
      });

      it.runIf(requires('acknowledged'))(
        'acknowledges a message to the platform only after it is committed',
        async () => {
          const { promise, resolve } = Promise.withResolvers<Receipt>();
          await harness.channel.start(async (message) => {
            received.push(message);
            return await promise;
          });
          harness.says(harness.chats[0], 'keep me');
          await vi.waitFor(() => expect(contents()).toContain('keep me'), WAIT);
          for (let i = 0; i < 25; i += 1) await new Promise((next) => setImmediate(next));
          expect(harness.acknowledged?.()).toBe(false);
          resolve(ACCEPTED);
          await vi.waitFor(() => expect(harness.acknowledged?.()).toBe(true), WAIT);
        },
      );

      it.runIf(requires('redelivers'))('gives a repeat the same id', async () => {
        await harness.channel.start(receive);
        harness.says(harness.chats[0], 'again');
        await vi.waitFor(() => expect(contents()).toEqual(['again']), WAIT);
        await harness.redelivers?.(receive);
        harness.says(harness.chats[0], 'after');
        await vi.waitFor(() => expect(contents()).toContain('after'), WAIT);
        const ids = received.filter((message) => message.content === 'again').map((message) => message.id);
        expect(new Set(ids).size).toBe(1);
        expect(ids).not.toContain(received.at(-1)?.id);
      });

      it.runIf(requires('echoes'))('ignores its own messages, and marks those of other bots', async () => {
        await harness.channel.start(receive);
        harness.echoes?.(harness.chats[0], 'from myself', 'self');
        harness.echoes?.(harness.chats[0], 'from a bot', 'bot');
        harness.says(harness.chats[0], 'from a person');
        await vi.waitFor(() => expect(contents()).toEqual(['from a bot', 'from a person']), WAIT);
        expect(received.map(({ fromBot }) => fromBot ?? false)).toEqual([true, false]);
      });

      it('can be stopped twice, or before a start, and leaves nothing open', async () => {
        await harness.channel.stop();
        await harness.channel.start(receive);
        harness.says(harness.chats[0], 'in time');
        await vi.waitFor(() => expect(contents()).toEqual(['in time']), WAIT);
        await harness.channel.stop();
        await harness.channel.stop();
        await vi.waitFor(() => expect(harness.receiving()).toBe(0), WAIT);
      });

      it('receives again after a stop and a start', async () => {
        await harness.channel.start(receive);
        await harness.channel.stop();
        await harness.channel.start(receive);
        harness.says(harness.chats[1], 'back');
        await vi.waitFor(() => expect(contents()).toEqual(['back']), WAIT);
      });
    });

    describe('sending', () => {
      const part = (chatId: string, text: string, nonce = text): OutboundPart => ({
        channel: name,
        chatId,
        body: harness.channel.render(parseMarkdown(text)),
        buttons: [],
        nonce,
      });
      const failure = async (call: Promise<unknown>): Promise<ChannelError> => {
        const error: unknown = await call.catch((thrown: unknown) => thrown);
        if (!(error instanceof ChannelError)) throw new Error(`no ChannelError but ${inspect(error)}`);
        expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(harness.secret);
        return error;
      };

      it.runIf(requires('sends'))('shows a message in its chat only, without being started', async () => {
        const [here, there] = harness.chats;
        const sent = await harness.channel.send(part(here.chatId, 'for **one** chat'));
        expect(sent.id).toMatch(/./);
        expect(harness.screen(here.chatId)).toEqual(['for one chat']);
        expect(harness.screen(there.chatId)).toEqual([]);
      });

      it.runIf(requires('sends'))(
        'returns an id that edit accepts, and accepts the same text twice',
        async () => {
          const { chatId } = harness.chats[0];
          const sent = await harness.channel.send(part(chatId, 'draft'));
          for (let i = 0; i < 2; i += 1) await harness.channel.edit?.(sent, part(chatId, 'done'));
          expect(harness.screen(chatId)).toEqual([harness.channel.capabilities.edit ? 'done' : 'draft']);
        },
      );

      it.runIf(requires('sends'))(
        'deletes what it sent, only in its chat, and does not fail when it is already gone',
        async () => {
          const [here, there] = harness.chats;
          const sent = await harness.channel.send(part(here.chatId, 'not for long'));
          await harness.channel.send(part(here.chatId, 'stays'));
          await harness.channel.send(part(there.chatId, 'stays, too'));
          const place = { channel: name, chatId: here.chatId };
          for (let i = 0; i < 2; i += 1) await harness.channel.delete?.(sent, place);
          const gone = harness.channel.capabilities.delete;
          expect(harness.screen(here.chatId)).toEqual(gone ? ['stays'] : ['not for long', 'stays']);
          expect(harness.screen(there.chatId)).toEqual(['stays, too']);
          await harness.channel.send(part(here.chatId, 'still works'));
        },
      );

      it.runIf(requires('sends'))('shows hostile text in readable form', async () => {
        const { chatId } = harness.chats[0];
        for (const text of HOSTILE_TEXTS) {
          const out = part(chatId, text);
          await harness.channel.send(out);
          const shown = harness.screen(chatId).at(-1);
          expect(shown).toBe(harness.reads(out.body.text).visible);
          expect(shown).toContain('readable');
          await harness.channel.send({ ...out, plain: true, nonce: `${text} plain` });
          expect(harness.screen(chatId).at(-1)).toContain('readable');
        }
      });

      it.runIf(requires('sends'))('sends the longest message, permanently refuses a longer one', async () => {
        const { chatId } = harness.chats[0];
        const { maxLength } = harness.channel.capabilities;
        await harness.channel.send(part(chatId, 'y'.repeat(maxLength)));
        expect(harness.screen(chatId).at(-1)).toHaveLength(maxLength);
        const error = await failure(harness.channel.send(part(chatId, 'n'.repeat(maxLength + 1))));
        expect(error).toMatchObject({ code: 'rejected', retryable: false });
      });

      it.runIf(requires('rateLimits'))('turns "wait this long" into rate_limited with the time', async () => {
        const { chatId } = harness.chats[0];
        harness.rateLimits?.(3_000);
        const error = await failure(harness.channel.send(part(chatId, 'hasty')));
        expect(error).toMatchObject({ code: 'rate_limited', retryable: true });
        expect(error.retryAfterMs).toBeGreaterThanOrEqual(3_000);
        expect(harness.screen(chatId)).toEqual([]);
      });

      it.runIf(requires('blocks'))('does not ask for a retry when the user blocked it', async () => {
        const { chatId } = harness.chats[0];
        harness.blocks?.(chatId);
        const error = await failure(harness.channel.send(part(chatId, 'hello?')));
        expect(error).toMatchObject({ code: 'blocked', retryable: false });
      });

      it.runIf(requires('losesAnswer'))(
        'shows one message when an answer was lost, or reports outcome_unknown',
        async () => {
          const { chatId } = harness.chats[0];
          harness.losesAnswer?.();
          const outcome = await harness.channel.send(part(chatId, 'once')).then(
            () => 'sent',
            (error: unknown) => (error instanceof GatewayError ? error.code : 'foreign'),
          );
          expect(['sent', 'outcome_unknown']).toContain(outcome);
          expect(harness.screen(chatId)).toEqual(['once']);
        },
      );

      it.runIf(requires('fails')).each([500, 502, 503, 504])(
        'knows that nothing was sent when it is answered with a page and status %i, and sends again later',
        async (status) => {
          const { chatId } = harness.chats[0];
          harness.fails?.(status);
          const error = await failure(harness.channel.send(part(chatId, 'later')));
          expect(error).toMatchObject({ code: 'unavailable', retryable: true });
          await harness.channel.send(part(chatId, 'later'));
          expect(harness.screen(chatId)).toEqual(['later']);
        },
      );

      it.runIf(requires('refusesToken'))('sends again after its token was refused once', async () => {
        const { chatId } = harness.chats[0];
        harness.refusesToken?.();
        const error = await failure(harness.channel.send(part(chatId, 'all the same')));
        expect(['unauthorized', 'unavailable']).toContain(error.code);
        await harness.channel.send(part(chatId, 'all the same'));
        expect(harness.screen(chatId)).toEqual(['all the same']);
      });

      it.runIf(requires('nonce'))('shows one message for one nonce, with the last text', async () => {
        const { chatId } = harness.chats[0];
        const first = await harness.channel.send(part(chatId, 'only once', 'same'));
        const second = await harness.channel.send(part(chatId, 'only once, and whole', 'same'));
        expect(second.id).toBe(first.id);
        expect(harness.screen(chatId)).toEqual(['only once, and whole']);
      });
    });

    sentFilesContract(() => harness);
    renderingContract(() => harness);
    const parts = { harness: () => harness, receive, received: () => received };
    commandContract(name, parts);
    if (requires('sendsFile')) downloadContract(parts);
    if (requires('deletes')) deletionContract(name, parts);
    if (requires('group')) groupContract(name, () => harness);

    it('declares exactly the capabilities that it has', async () => {
      const { channel } = harness;
      const { capabilities } = channel;
      expect(channel.name).toBe(name);
      const has = (['edit', 'delete', 'typing'] as const).map((name) => channel[name] !== undefined);
      expect([capabilities.edit, capabilities.delete, capabilities.typing]).toEqual(has);
      expect(channel.before !== undefined || capabilities.followUps !== true).toBe(true);
      expect(channel.removeButtons !== undefined).toBe(capabilities.answerButtons === true);
      expect(requires('sendsFile')).toBe(channel.download !== undefined);
      expect(requires('group')).toBe(channel.isAdmin !== undefined);
      expect(capabilities.typingMs > 0).toBe(capabilities.typing);
      const place = { channel: name, chatId: harness.chats[0].chatId };
      const { editIntervalMs, burst, reserved } = capabilities.rates.of(place, undefined);
      const sound = [editIntervalMs > 0, burst > reserved, Number.isSafeInteger(capabilities.maxLength)];
      expect(sound).toEqual([capabilities.edit, true, true]);
      await channel.typing?.(place);
    });
  });
}
