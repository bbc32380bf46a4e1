/** A question that is shown in the other chats of its conversation reads there as it was written. */
import { expect, it } from 'vitest';
import { renderTelegram } from '../../../channels/telegram/render.ts';
import { createAskedElsewhere } from '../../../src/intake/surfaces/asked-elsewhere.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { takeOutFormulas } from '../../../src/lib/markdown/math-text.ts';
import { inboundMessage } from '../../fakes/agent/turn-setup.ts';
import { builtInLanguages } from '../../fakes/gateway/languages.ts';

const WRITTEN = 'And now? [[end:ZC]], a[1], \\[x = 2\\], $y_1$ for $5, 3~5 and <b>2*3</b>';

it('is shown in another chat with every sign, and as no formula', async () => {
  const shown: string[] = [];
  const show = createAskedElsewhere({
    ledger: {
      enqueue: (_, { message }) => {
        shown.push(message.content);
        return Promise.resolve({ heads: [] });
      },
    },
    bus: { claimingNode: () => undefined, runHeads: () => undefined },
    labelOf: () => 'Slack',
    languages: builtInLanguages,
  });
  const message = inboundMessage(WRITTEN, { channel: 'slack', chatId: 'C1', senderName: 'Ada' });
  const other = { address: 'telegram:1', place: 'private', userId: 'telegram:1' } as const;
  await show({ turnId: 't1', surfaces: [{ ...other, placeholders: [] }], message });
  const { markdown, formulas } = takeOutFormulas(shown[0] ?? '');
  expect(formulas).toEqual([]);
  expect(renderTelegram(parseMarkdown(markdown)).plain).toBe(`Ada on Slack: ${WRITTEN}`);
});
