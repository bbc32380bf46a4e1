/**
 * The manifest of a fourth network, whose ids are letters and digits; made for the tests of what iterates over the
 * list.
 */
import { z } from 'zod';
import { type ChannelManifest, defineChannel } from '../../../src/protocol/channel.ts';
import { FakeChannel } from '../gateway/channel.ts';
import { FakeClock } from '../clock.ts';

/** `office`: people are `U0123ABC`, chats `C0123ABC` and `D0123ABC`. */
export const office = defineChannel({
  name: 'office',
  label: 'Office chat',
  writeCommand: (name) => `/office ${name}`,
  needs: 'OFFICE_TOKEN',
  env: z.object({ OFFICE_TOKEN: z.string().startsWith('offb-', 'must begin with offb-').optional() }),
  settings: z.strictObject({ editIntervalMs: z.int().min(1).default(700) }),
  ids: {
    userId: /^U[0-9A-Z]{3,20}$/,
    chatId: /^[CD][0-9A-Z]{3,20}$/,
    description: 'an id such as U0123ABC',
    privacyOf: (chatId) => (chatId.startsWith('D') ? 'private' : 'group'),
  },
  secretShapes: [{ pattern: /offb-[0-9a-z]{6,}/, replacement: '[office-token]' }],
  isOn: ({ OFFICE_TOKEN }) => OFFICE_TOKEN !== undefined,
  secrets: ({ OFFICE_TOKEN }) => [OFFICE_TOKEN],
  create: ({ settings }) =>
    Promise.resolve(new FakeChannel({ clock: new FakeClock(), name: 'office', ...settings })),
});

/** The same manifest with some fields replaced. */
export function officeWith(change: Partial<ChannelManifest>): ChannelManifest {
  return { ...office, ...change };
}
