/** The WhatsApp plug-in under the contract that every channel passes. */
import { afterAll } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { HostedPlugin, openBuiltPlugin } from '../../fakes/plugins/hosted-channel.ts';
import { FakeWhatsApp, WHATSAPP_TOKEN } from '../../fakes/whatsapp/whatsapp.ts';
import { visibleText } from '../../fakes/whatsapp/marks.ts';

const plugin = await openBuiltPlugin('whatsapp');
afterAll(() => plugin.remove());

channelContract(
  'whatsapp',
  async () => {
    const fake = await FakeWhatsApp.open();
    const hosted = new HostedPlugin(plugin, fake.settings);
    fake.webhook = await hosted.listen();
    const chat = (id: string) => ({ chatId: id, senderId: id });
    return {
      channel: hosted.channel,
      writeCommand: (name) => `/${name}`,
      chats: [chat('491701234567'), chat('16505551234')],
      secret: WHATSAPP_TOKEN,
      says: ({ senderId }, text) => void fake.says(senderId, text),
      types: ({ senderId }, text) => void fake.says(senderId, text),
      screen: (chatId) => fake.screen(chatId),
      files: (chatId) =>
        fake
          .visible(chatId)
          .flatMap(({ file, out }) =>
            file === undefined ? [] : [{ name: file.name, bytes: file.bytes, caption: captionOf(out) }],
          ),
      reads: (text) => ({ visible: visibleText(text), length: text.length }),
      receiving: () => fake.waiting,
      acknowledged: () => fake.waiting === 0,
      redelivers: () => fake.postAgain(),
      sendsFile: ({ senderId }, name, bytes) => void fake.sends(senderId, 'document', name, bytes),
      failsDownload: (failure) => void fake.downloadFailures.push(failure),
      // "Business use case rate limits": the header tells whole minutes.
      rateLimits: (ms) =>
        void fake.failures.push({
          kind: 'refuse',
          match: /\/(messages|media) /,
          status: 400,
          code: 80007,
          headers: {
            'x-business-use-case-usage': JSON.stringify({
              '102290129340398': [{ estimated_time_to_regain_access: Math.ceil(ms / 60_000) }],
            }),
          },
        }),
      blocks: (chatId) => void fake.blocked.add(chatId),
      losesAnswer: () => void fake.failures.push({ kind: 'drop', match: /\/messages / }),
      losesFileAnswer: () => void fake.failures.push({ kind: 'drop', match: /\/messages / }),
      fails: (status) => void fake.failures.push({ kind: 'status', status, match: /\/messages / }),
      refusesToken: () =>
        void fake.failures.push({ kind: 'refuse', match: /\/messages /, status: 401, code: 190 }),
      async close() {
        await hosted.close();
        await fake.close();
      },
    };
  },
  {
    echoes: 'the platform posts neither the messages of the bot nor those of other bots',
    deletes: 'the platform does not say which messages were deleted',
    group: 'the plug-in answers in private chats only',
    nonce: 'no message can be changed: another test shows that the same nonce sends once',
  },
);

function captionOf(out: FakeWhatsApp['messages'][number]['out']): string {
  const part = {
    caption: '',
    ...('image' in out ? out.image : 'video' in out ? out.video : 'document' in out ? out.document : {}),
  };
  return visibleText(part.caption ?? '');
}
