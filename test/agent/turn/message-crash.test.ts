/** A process that dies around a message in the middle of a turn: users see it once. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createPost } from '../../../src/delivery/index.ts';
import { fileTypeOf } from '../../../src/media/index.ts';
import { createOutgoingFiles, createSessionFiles } from '../../../src/tools/index.ts';
import { createMessage } from '../../../src/tools/message.ts';
import { createSendFile } from '../../../src/tools/send-file.ts';
import { describeStore } from '../../database.ts';
import { dyingAt, notOfDeath, TURN_STEPS } from '../../fakes/agent/dying-store.ts';
import { replaySteps } from '../../fakes/agent/replay-provider.ts';
import { noOtherChats } from '../../fakes/agent/find-chat.ts';
import { asks, says } from '../../fakes/agent/scripted-provider.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

describeStore('a message whose process dies', (databases) => {
  it('is sent once, wherever the process died (B-23)', async () => {
    const store = await databases.open();
    const bus = { claimingNode: () => undefined, runHeads: () => undefined };
    const tools = [createMessage(createPost(store.posts, bus, new Map()), noOtherChats)];
    const live = async (at: number, when: 'before' | 'after') => {
      const provider = replaySteps(asks([{ name: 'message', args: { text: 'Soon.' } }]), says('Now.'));
      const death = dyingAt(at, when, TURN_STEPS);
      const first = new TurnScenario({ store, provider, tools, around: death.of });
      await first.start();
      const chatId = `${when}-${at}`;
      const { head } = await first.say('Do it', { chatId });
      await first.run(head).catch(() => undefined);
      const second = new TurnScenario({ store, provider, tools });
      await second.start();
      const left = await second.sweep();
      if (left !== undefined) await second.run(left);
      const messages = await store.ledger.messages(`telegram:${chatId}`, { limit: 9 });
      const queued = await store.sql`select seq from lane_item where lane = ${`out:telegram:${chatId}`}`;
      return { seen: death.seen, told: messages.map(({ content }) => content), queued: queued.length };
    };
    const whole = await live(Infinity, 'after');
    expect(whole).toMatchObject({ told: ['Do it', 'Soon.', 'Now.'], queued: 2 });
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        expect(await live(at, when), `${when} ${whole.seen[at]}`).toMatchObject({
          told: ['Do it', 'Soon.', 'Now.'],
          queued: 2,
        });
      }
    }
  });

  it('with a file is sent once, with one copy of the file, wherever the process died', async () => {
    const store = await databases.open();
    const root = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
    onTestFinished(() => rm(root, { recursive: true }));
    const files = createSessionFiles(root, testLog());
    const outgoing = createOutgoingFiles(files, fileTypeOf, (file) => store.keptFiles.keep(file));
    const bus = { claimingNode: () => undefined, runHeads: () => undefined };
    const tools = [
      createSendFile(createPost(store.posts, bus, new Map()), noOtherChats, (folder, file) =>
        outgoing.keep(folder, file),
      ),
    ];
    const live = async (at: number, when: 'before' | 'after') => {
      const provider = replaySteps(asks([{ name: 'send_file', args: { path: 'a.txt' } }]), says('Now.'));
      const death = dyingAt(at, when, TURN_STEPS);
      const first = new TurnScenario({ store, provider, tools, files, around: death.of });
      await first.start();
      const chatId = `file-${when}-${at}`;
      const { head } = await first.say('Do it', { chatId });
      const session = await store.ledger.session(`telegram:${chatId}`);
      const folder = await files.open(session?.folder ?? '');
      await writeFile(path.join(folder, 'a.txt'), 'as it was');
      await first.run(head).catch(notOfDeath);
      // The resuming process finds different content, and sends it only where nothing was sent before.
      await writeFile(path.join(folder, 'a.txt'), 'as it is now');
      const second = new TurnScenario({ store, provider, tools, files });
      await second.start();
      const left = await second.sweep();
      if (left !== undefined) await second.run(left);
      const messages = await store.ledger.messages(`telegram:${chatId}`, { limit: 9 });
      const sent = messages.flatMap(({ attachments = [] }) => attachments);
      const contents = sent.map(({ file }) => readFileSync(path.join(folder, file), 'utf8'));
      const queued = await store.sql`select seq from lane_item where lane = ${`out:telegram:${chatId}`}`;
      return { seen: death.seen, sent, contents, queued: queued.length, messages: messages.length };
    };
    const whole = await live(Infinity, 'after');
    expect(whole).toMatchObject({ contents: ['as it was'], queued: 2, messages: 3 });
    for (const at of whole.seen.keys()) {
      if (whole.seen[at]?.startsWith('tool') !== true) continue;
      for (const when of ['before', 'after'] as const) {
        const { sent, contents, ...counts } = await live(at, when);
        expect(counts, `${when} ${whole.seen[at]}`).toMatchObject({ queued: 2, messages: 3 });
        expect(sent).toHaveLength(1);
        expect(contents[0]).toMatch(/^as it (was|is now)$/);
      }
    }
  });
});
