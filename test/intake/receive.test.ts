/** The gateway as its channels see it, on a real store: what happens to a message, and who may touch which session. */
import { expect, it } from 'vitest';
import type { Caller, Verdict } from '../../src/protocol/access.ts';
import type { InboundMessage, SessionKey } from '../../src/protocol/message.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import { MAX_PENDING } from '../../src/protocol/store/ledger.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import type { SessionFiles } from '../../src/protocol/agent/tool.ts';
import type { FileStorage } from '../../src/intake/api/file-api.ts';
import { createGatewayApi, createIntake } from '../../src/intake/index.ts';
import { MESSAGE_RATE, REFUSALS_REPORTED } from '../../src/intake/limits.ts';
import { MAX_MESSAGE_LENGTH } from '../../src/intake/receive.ts';
import { describeStore, type TestStore } from '../database.ts';
import { intakeOptions } from '../fakes/gateway/intake.ts';
import { quietBus } from '../fakes/gateway/quiet-bus.ts';
import { partial } from '../fakes/partial.ts';
import { inbound } from '../store/requests.ts';

const OWNER: Caller = { tokenId: 'owner', scopes: ['chat', 'admin'] };
const MAKER: Caller = { tokenId: 'maker', scopes: ['chat', 'commands'] };
const OTHER: Caller = { tokenId: 'other', scopes: ['chat', 'commands'] };

/** The intake over a store whose lanes no one runs. */
function intakeOf(store: TestStore, verdict: Verdict = { kind: 'allow', owner: false }) {
  const hints: string[] = [];
  const intake = createIntake(
    intakeOptions(store, {
      bus: quietBus({ notifyStop: (lane) => void hints.push(lane) }),
      accessPolicy: partial({ authorize: async () => verdict }),
    }),
  );
  const files = partial<SessionFiles>({ remove: async () => true });
  const storage = partial<FileStorage>({ files });
  const api = createGatewayApi(intake, partial({ storage, agent: partial({}) }));
  return { receive: intake.receive, api, hints };
}

const NOTHING = /^$/;

/** What was queued for the user's screen. */
async function queued(store: TestStore): Promise<string[]> {
  const rows = await store.sql<{ text: string }[]>`
    select payload -> 'message' ->> 'content' as text from lane_item where lane like 'out:%' order by seq`;
  return rows.map(({ text }) => text);
}

describeStore('a message at the api', (databases) => {
  it('is refused with a reason, and with a reply when that helps the sender', async () => {
    const store = await databases.open();
    const table: [Partial<InboundMessage>, Verdict, Receipt['kind'], string, RegExp][] = [
      [{}, { kind: 'deny' }, 'refused', 'denied', NOTHING],
      [{}, { kind: 'deny', reply: textRef('observe.usage') }, 'refused', 'denied', /^Write \/observe on/],
      [{ content: '/stop' }, { kind: 'deny' }, 'refused', 'denied', NOTHING],
      [
        {},
        { kind: 'pairing', reply: textRef('pairing.code', { code: 'AB' }) },
        'refused',
        'pairing',
        /approve AB$/,
      ],
      [{ content: ' \n ' }, { kind: 'allow', owner: false }, 'refused', 'empty', /neither text nor a file/],
      [
        { content: 'x'.repeat(MAX_MESSAGE_LENGTH + 1) },
        { kind: 'allow', owner: false },
        'refused',
        'too_large',
        /100000/,
      ],
    ];
    for (const [index, [change, verdict, kind, code, wanted]] of table.entries()) {
      const before = (await queued(store)).length;
      const receipt = await intakeOf(store, verdict).receive(inbound(`m${index}`, change));
      expect(receipt).toMatchObject({ kind, code });
      expect(receipt).not.toHaveProperty('reply');
      expect((await queued(store)).slice(before).join()).toMatch(wanted);
    }
    expect(await store.ledger.messages('telegram:42', { limit: 9 })).toEqual([]);
  });

  it('that is a command takes effect once, however often its platform hands it out', async () => {
    const store = await databases.open();
    const { receive, hints } = intakeOf(store);
    await receive(inbound('stop', { content: '/stop' }));
    await receive(inbound('question', { content: 'and now?' }));
    for (let n = 0; n < 3; n += 1)
      expect(await receive(inbound('stop', { content: '/stop' }))).toEqual({ kind: 'handled' });
    const [lane] = await store.sql<{ stopped: boolean }[]>`
      select stop_seq >= tail as stopped from lane where key = 'in:telegram:42'`;
    expect(lane?.stopped).toBe(false);
    expect(hints).toHaveLength(1);
    expect(await queued(store)).toHaveLength(1);
    await receive(inbound('stop again', { content: '/stop' }));
    expect(hints).toHaveLength(2);
  });

  it("is tried again while the disk of the database is full, and does not count against its sender's rate", async () => {
    const calm = await databases.open();
    const store = await databases.open({ beside: calm, retryForMs: 500 });
    const { receive } = intakeOf(store);
    await store.sql`
      create function full_disk() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`;
    await store.sql`create trigger full_disk before insert on message execute function full_disk()`;
    const tries = MESSAGE_RATE.messagesAtOnce + 1;
    for (let n = 0; n < tries; n += 1) {
      await expect(receive(inbound('m1'))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    }
    await store.sql`drop trigger full_disk on message`;
    expect(await receive(inbound('m1'))).toMatchObject({ kind: 'accepted' });
    expect(await queued(store)).toEqual([]);
  });

  it('is accepted at its maximum length, and once however often it is repeated', async () => {
    const store = await databases.open();
    const { receive } = intakeOf(store);
    const longest = inbound('m1', { content: 'x'.repeat(MAX_MESSAGE_LENGTH) });
    const first = await receive(longest);
    expect(first).toMatchObject({ kind: 'accepted', seq: 1, position: 0 });
    const turnId = first.kind === 'accepted' ? first.turnId : '';
    expect(await receive(longest)).toEqual({ kind: 'duplicate', turnId, seq: 1 });
    expect(await receive(inbound('m2'))).toMatchObject({ kind: 'accepted', position: 1 });
  });

  it('is known when its platform hands it out again, instead of being too fast', async () => {
    const store = await databases.open();
    const batch = Array.from({ length: 2 * MESSAGE_RATE.messagesAtOnce }, (_, n) =>
      inbound(`m${n}`, { timestamp: n * 60_000 }),
    );
    const { receive } = intakeOf(store);
    for (const message of batch) expect(await receive(message)).toMatchObject({ kind: 'accepted' });
    // By this process, and by one that has just started.
    for (const again of [receive, intakeOf(store).receive]) {
      for (const message of batch) expect(await again(message)).toMatchObject({ kind: 'duplicate' });
    }
    expect(await queued(store)).toEqual([]);
  });

  it(`is refused with a reply when ${MAX_PENDING} are waiting, and a command is not`, async () => {
    const store = await databases.open();
    const { receive, hints } = intakeOf(store);
    const say = (id: string, content = 'hi'): Promise<Receipt> =>
      receive(inbound(id, { channel: 'http', chatId: 'full', content, sessionKey: 'http:full' }), {
        caller: MAKER,
      });
    for (let n = 0; n < MAX_PENDING; n += 1) expect((await say(`m${n}`)).kind).toBe('accepted');
    expect(await say('one more')).toMatchObject({ kind: 'refused', code: 'queue_full' });
    expect(await say('m7')).toMatchObject({ kind: 'duplicate' });
    expect(await say('stop', '/stop')).toEqual({
      kind: 'handled',
      reply: `Nothing was running. ${MAX_PENDING} queued messages were dropped.`,
    });
    expect(hints).toEqual(['in:http:full']);
    expect((await say('after')).kind).toBe('accepted');
  });

  it('is refused when a command is too long or too fast, except for /stop, which always acts', async () => {
    const store = await databases.open();
    const { receive, hints } = intakeOf(store);
    const placeholder = { id: '@original' };
    const say = (id: string, content: string): Promise<Receipt> =>
      receive(inbound(id, { content, placeholder }));
    const tooLong = 'x'.repeat(MAX_MESSAGE_LENGTH);
    expect(await say('long', `/approve ${tooLong}`)).toMatchObject({ kind: 'refused', code: 'too_large' });
    for (let n = 0; n < MESSAGE_RATE.messagesAtOnce; n += 1)
      expect(await say(`c${n}`, '/status')).toMatchObject({ kind: 'handled' });
    expect(await say('fast', '/status')).toMatchObject({
      kind: 'refused',
      code: 'rate_limited',
      reply: expect.stringContaining('too fast'),
    });
    for (let n = 2; n < REFUSALS_REPORTED; n += 1)
      expect(await say(`fast ${n}`, 'hi')).toMatchObject({ reply: expect.stringMatching(/in \d+ s\.$/) });
    expect(await say('last', 'hi')).toMatchObject({ reply: expect.stringContaining('not repeat this') });
    expect(await say('silent', 'hi')).toEqual({ kind: 'refused', code: 'rate_limited' });
    expect(await say('stop', `/stop ${tooLong}`)).toMatchObject({ kind: 'handled' });
    expect(hints).toHaveLength(1);
  });

  it('is refused once in a group for several that are too fast, and each time where it is answered in place', async () => {
    const store = await databases.open();
    const { receive } = intakeOf(store);
    const group = { place: 'group' as const, chatId: '-50', content: '/status' };
    for (let n = 0; n < MESSAGE_RATE.messagesAtOnce; n += 1) await receive(inbound(`c${n}`, group));
    const before = (await queued(store)).length;
    for (const id of ['f1', 'f2', 'f3', 'f4']) await receive(inbound(id, group));
    const texts = (await queued(store)).slice(before);
    expect(texts).toEqual([expect.stringMatching(/too fast.*in the next 10 s/)]);
    const inPlace = await receive(inbound('f5', { ...group, placeholder: { id: '@original' } }));
    expect(inPlace).toMatchObject({ reply: expect.stringContaining('too fast') });
  });

  it('is never too fast from an owner, who can always act', async () => {
    const { receive } = intakeOf(await databases.open(), { kind: 'allow', owner: true });
    for (let n = 0; n < 3 * MESSAGE_RATE.messagesAtOnce; n += 1)
      expect(await receive(inbound(`o${n}`, { content: '/status' }))).toMatchObject({ kind: 'handled' });
  });

  it('gets its command’s reply in the receipt when the channel answers in place, else as a delivery', async () => {
    const store = await databases.open();
    const { receive } = intakeOf(store);
    const line = inbound('m1', { content: '/help', placeholder: { id: '@original' } });
    expect(await receive(line)).toMatchObject({ kind: 'handled', reply: expect.stringContaining('/stop') });
    expect(await queued(store)).toEqual([]);
    expect(await receive(inbound('m2', { content: '/help' }))).toEqual({ kind: 'handled', personal: true });
    await receive(inbound('m2', { content: '/help' }));
    expect(await queued(store)).toEqual([expect.stringContaining('/stop')]);
  });
});

describeStore('a session behind the api', (databases) => {
  const KEY: SessionKey = 'http:mine';
  const page = { limit: 10 };
  const methods: [
    string,
    (api: ReturnType<typeof createGatewayApi>, caller: Caller) => Promise<unknown>,
    unknown,
  ][] = [
    ['session', (api, caller) => api.session(caller, KEY), undefined],
    ['messages', (api, caller) => api.messages(caller, KEY, page), undefined],
    ['plan', (api, caller) => api.plan(caller, KEY), undefined],
    ['updateSession', (api, caller) => api.updateSession(caller, KEY, { mode: 'agentic' }), undefined],
    ['stop', (api, caller) => api.stop(caller, KEY), undefined],
    ['sessions', (api, caller) => api.sessions(caller, page), []],
    ['deleteSession', (api, caller) => api.deleteSession(caller, KEY), false],
  ];

  it.each(methods)(
    'is visible to its creator and an admin, and to no one else: %s',
    async (_name, ask, nothing) => {
      const store = await databases.open();
      const { api, receive } = intakeOf(store);
      const message = inbound('m1', { channel: 'http', chatId: 'mine', content: 'mine' });
      for (const caller of [MAKER, OWNER]) {
        await receive({ ...message, id: `for ${caller.tokenId}` }, { caller: MAKER });
        const before = await store.ledger.messages(KEY, page);
        expect(await ask(api, OTHER)).toEqual(nothing);
        expect(await store.ledger.messages(KEY, page)).toEqual(before);
        expect(await ask(api, caller)).not.toEqual(nothing);
      }
    },
  );

  it('accepts neither messages nor commands nor a repeated key from another token', async () => {
    const store = await databases.open();
    const { receive, hints } = intakeOf(store);
    const message = inbound('key', { channel: 'http', chatId: 'mine', content: 'mine' });
    await receive(message, { caller: MAKER });
    for (const change of [
      { id: 'new' },
      {},
      { id: 'stop', content: '/stop' },
      { id: 'status', content: '/status' },
    ]) {
      const refused = await receive({ ...message, ...change }, { caller: OTHER });
      expect({ ...refused, change }).toMatchObject({ kind: 'refused', code: 'denied' });
    }
    expect(hints).toEqual([]);
    expect(await store.ledger.messages(KEY, page)).toHaveLength(1);
    expect((await receive({ ...message, id: 'admin' }, { caller: OWNER })).kind).toBe('accepted');
  });
});
