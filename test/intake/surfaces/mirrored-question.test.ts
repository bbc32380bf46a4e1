/** A question that is shown in the other chats of its conversation reads there as it was written. */
import type { EventBus } from '../../../src/protocol/bus.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import { quietBus } from '../../fakes/gateway/quiet-bus.ts';
import { partial } from '../../fakes/partial.ts';
import { expect, it } from 'vitest';
import { renderTelegram } from '../../../channels/telegram/render.ts';
import { createMirrorQuestion } from '../../../src/intake/surfaces/tell.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { takeOutFormulas } from '../../../src/lib/markdown/formulas.ts';
import { inboundMessage } from '../../fakes/agent/turn-setup.ts';
import { builtInLanguages } from '../../fakes/gateway/languages.ts';

const WRITTEN = 'And now? [[end:ZC]], a[1], \\[x = 2\\], $y_1$ for $5, 3~5 and <b>2*3</b>';

it('is shown in another chat with every sign, and as no formula', async () => {
  const shown: string[] = [];
  const ledger = partial<Ledger>({
    enqueue: (_, { message }) => {
      shown.push(message.content);
      return Promise.resolve({ heads: [] });
    },
  });
  const chats = { ledger, bus: quietBus(), events: partial<EventBus>(), languages: builtInLanguages };
  const show = createMirrorQuestion(chats, () => 'Slack');
  const message = inboundMessage(WRITTEN, { channel: 'slack', chatId: 'C1', senderName: 'Ada' });
  const other = { address: 'telegram:1', place: 'private', userId: 'telegram:1' } as const;
  await show({ turnId: 't1', surfaces: [{ ...other, placeholders: [] }], message });
  const { markdown, formulas } = takeOutFormulas(shown[0] ?? '');
  expect(formulas).toEqual([]);
  expect(renderTelegram(parseMarkdown(markdown)).plain).toBe(`Ada on Slack: ${WRITTEN}`);
});
