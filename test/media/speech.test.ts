/** Speech after a turn, on each database: queued with its end, spoken once, posted once, whatever dies in between. */
import { unmetered } from '../fakes/gateway/unmetered.ts';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Post } from '../../src/protocol/delivery.ts';
import { StoreError } from '../../src/protocol/errors.ts';
import { fileTypeOf } from '../../src/media/index.ts';
import { speechRule } from '../../src/media/settings.ts';
import type { EventBus } from '../../src/protocol/bus.ts';
import type { LaneStore } from '../../src/protocol/store/lanes.ts';
import { partial } from '../fakes/partial.ts';
import { createSpeakAnswers, MAX_SPEECH_BYTES, type SpeechContext } from '../../src/media/speech.ts';
import { createSessionFiles } from '../../src/tools/index.ts';
import { describeStore, silentLog, type TestStore } from '../database.ts';
import { OGG } from '../fakes/media/media-bytes.ts';
import { request } from '../store/requests.ts';
import { builtInLanguages } from '../fakes/gateway/languages.ts';

const KEY = 'telegram:42';
const speech = {
  ...speechRule.parse({ baseUrl: 'http://127.0.0.1:1/v1' }),
  apiKey: undefined,
  apiKeyEnv: undefined,
};

describeStore('answers spoken after their turn', (databases) => {
  /** Ends a turn with this answer; returns the heads that its end has claimed. */
  const answer = async (store: TestStore, text: string, { voice = true, speak = true } = {}) => {
    const node = await store.lanes.register('one', 60_000);
    const accepted = await store.ledger.accept({ ...request(text), node });
    if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
    await store.ledger.updateSession(KEY, { voice });
    const fence = accepted.heads[0];
    if (fence === undefined) throw new Error('the lane was not claimed');
    const { turnId } = accepted;
    const finish = { reason: 'completed', content: text, isError: false, userId: 'telegram:7' } as const;
    const more = { usage: [], entries: [], speak, outbound: { ref: turnId } };
    const { heads } = await store.ledger.finishTurn(fence, { turnId, ...finish, ...more });
    return { turnId, heads };
  };

  /** The parts over this store; `asked` collects the spoken texts. */
  const parts = async (store: TestStore, change: Partial<SpeechContext> = {}) => {
    const root = await mkdtemp(path.join(tmpdir(), 'parley-spoken-'));
    onTestFinished(() => rm(root, { recursive: true }));
    const asked: string[] = [];
    const post: Post = async (call) => await store.posts.post(call, 11);
    const deps: SpeechContext = {
      settings: () => speech,
      synthesize: async (text) => (asked.push(text), OGG),
      metered: unmetered,
      ledger: store.ledger,
      lanes: store.lanes,
      files: createSessionFiles(root, silentLog),
      fileTypeOf,
      keptFiles: store.keptFiles,
      post,
      events: partial<EventBus>({ emit: () => undefined }),
      languages: builtInLanguages,
      log: silentLog,
      ...change,
    };
    return { deps, asked, post, root };
  };
  const going = new AbortController().signal;
  const spoken = async (store: TestStore) =>
    (await store.ledger.messages(KEY, { limit: 9 })).filter(({ attachments }) => attachments !== undefined);

  it('are queued in the step that ends the turn, next to the delivery, when the session uses speech', async () => {
    const store = await databases.open();
    const { turnId, heads } = await answer(store, 'Hello.');
    expect(heads.map(({ lane }) => lane).toSorted()).toEqual([`out:${KEY}`, `speech:${KEY}`]);
    expect(heads.find(({ lane }) => lane.startsWith('speech'))).toMatchObject({
      payload: { turnId },
      dedupe: turnId,
    });
    const other = await databases.open();
    expect((await answer(other, 'Hello.', { voice: false })).heads.map(({ lane }) => lane)).toEqual([
      `out:${KEY}`,
    ]);
    const third = await databases.open();
    expect((await answer(third, 'Hello.', { speak: false })).heads.map(({ lane }) => lane)).toEqual([
      `out:${KEY}`,
    ]);
  });

  it('are spoken and posted once, though the node dies after the sound is stored, and again after the post', async () => {
    const store = await databases.open();
    const { turnId, heads } = await answer(store, 'Hello **there**.');
    const head = heads.find(({ lane }) => lane === `speech:${KEY}`);
    if (head === undefined) throw new Error('nothing was queued');
    const { deps, asked, post, root } = await parts(store);
    const died = new StoreError('unavailable', 'The node dies.', { retryable: true });
    const beforePost = createSpeakAnswers({ ...deps, post: () => Promise.reject(died) });
    await expect(beforePost.handle(head, going)).rejects.toBe(died);
    const lanes = partial<LaneStore>({ finish: () => Promise.reject(died) });
    await expect(createSpeakAnswers({ ...deps, lanes }).handle(head, going)).rejects.toBe(died);
    expect(await createSpeakAnswers(deps).handle(head, going)).toMatchObject({ kind: 'finished' });
    expect(asked).toEqual(['Hello there.']);
    const [message, ...more] = await spoken(store);
    expect(more).toEqual([]);
    const file = `outbox/${turnId}.speech.ogg`;
    expect(message).toMatchObject({
      turnId: `${turnId}.speech`,
      content: '',
      attachments: [{ kind: 'voice', file }],
    });
    const folder = (await store.ledger.session(KEY))?.folder ?? '';
    expect(await readFile(path.join(root, folder, file))).toEqual(OGG);
    expect(await post({ ref: `${turnId}.speech`, turnId, address: KEY, content: '' })).toMatchObject({
      kind: 'known',
    });
  });

  it('are left out when the session was deleted, or no one wants to hear them anymore', async () => {
    const store = await databases.open();
    const { heads } = await answer(store, 'Hello.');
    const head = heads.find(({ lane }) => lane === `speech:${KEY}`);
    if (head === undefined) throw new Error('nothing was queued');
    const { deps, asked } = await parts(store);
    const kept = partial<LaneStore>({ finish: async () => ({ heads: [] }) });
    await store.ledger.updateSession(KEY, { voice: false });
    await createSpeakAnswers({ ...deps, lanes: kept }).handle(head, going);
    await createSpeakAnswers({ ...deps, lanes: kept, settings: () => undefined }).handle(head, going);
    await store.ledger.deleteSession(KEY);
    await createSpeakAnswers(deps).handle(head, going);
    expect(asked).toEqual([]);
  });

  it('are reported in the chat when they are not sound', async () => {
    const store = await databases.open();
    const { heads } = await answer(store, 'Hello.');
    const head = heads.find(({ lane }) => lane === `speech:${KEY}`);
    if (head === undefined) throw new Error('nothing was queued');
    const { deps } = await parts(store, { synthesize: async () => Buffer.from('no sound') });
    await createSpeakAnswers(deps).handle(head, going);
    expect((await store.ledger.messages(KEY, { limit: 9 })).at(-1)?.content).toMatch(
      /^This answer could not be spoken: .* check speech\.baseUrl in config\.json\. .*\/voice off/,
    );
    expect(await store.ledger.session(KEY)).toMatchObject({ voice: true, voiceFailing: true });
  });

  it('have at most 10 MiB of sound', async () => {
    for (const more of [0, 1]) {
      const store = await databases.open();
      const { heads } = await answer(store, 'Hello.');
      const head = heads.find(({ lane }) => lane === `speech:${KEY}`);
      if (head === undefined) throw new Error('nothing was queued');
      const sound = Buffer.concat([OGG, Buffer.alloc(MAX_SPEECH_BYTES - OGG.length + more)]);
      const { deps } = await parts(store, { synthesize: async () => sound });
      await createSpeakAnswers(deps).handle(head, going);
      expect(await spoken(store)).toHaveLength(1 - more);
      const said = (await store.ledger.messages(KEY, { limit: 9 })).at(-1)?.content;
      expect(said?.includes('could not be spoken: Files can be at most')).toBe(more === 1);
    }
  });
});
