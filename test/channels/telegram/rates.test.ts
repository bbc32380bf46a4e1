/** How often the channel may be called: reactions have a pace of their own. */
import { expect, it } from 'vitest';
import { capabilitiesOf } from '../../../channels/telegram/capabilities.ts';
import { manifest } from '../../../channels/telegram/manifest.ts';

const { rates } = capabilitiesOf({ token: '', ...manifest.settings.parse({ groupCallsPerMinute: 18 }) });

it.each([
  ['-100', { calls: 5, ms: 60_000 }],
  ['7', undefined],
])('gives reactions in %s a quarter of its calls, and a key of their own', (chatId, window) => {
  const place = { channel: 'telegram', chatId };
  const [texts, reactions] = [rates.of(place, undefined), rates.ofReactions?.(place)];
  expect(reactions?.window).toEqual(window);
  expect(reactions?.key).not.toBe(texts.key);
  expect(rates.ofReactions?.({ ...place, chatId: '-200' }).key).not.toBe(reactions?.key);
});
