/** Ten ways in which a message gets no answer, each on a running gateway: one look at its trace tells which. */
import { expect, it, vi } from 'vitest';
import { traceCommand } from '../../../src/ops/trace/commands.ts';
import { createTraces } from '../../../src/ops/trace/traces.ts';
import { pricesRule } from '../../../src/protocol/agent/usage.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.toReversed().values();
const OWNER_ID = '6001';
const GROUP = '-1009002';
const file = {
  turns: { concurrency: 3 },
  access: {
    telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: true } } },
    owners: { telegram: [OWNER_ID] },
  },
};
const ran: string[] = [];

describeGateway('why it did not answer', { telegram: true, file, tools: riskyTools(ran) }, (fixture) => {
  const person = (): string => people.next().value ?? '';
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  /** What `parley trace` prints. */
  const trace = (id: string): Promise<string> =>
    traceCommand(
      createTraces(fixture().store.traces, () => pricesRule.parse({})),
      [id],
    ).catch(String);
  const says = (chat: string, text: string): number => fixture().telegram.says(chat, text, chat);
  const turnsOf = (chat: string): Promise<{ id: string; reason: string | null }[]> =>
    fixture().sql<{ id: string; reason: string | null }[]>`
      select id, reason from turn where session = ${`telegram:${chat}`} order by lane_seq`;

  it('1: its channel does not forward messages of that kind', async () => {
    const chat = person();
    fixture().telegram.says(chat, 'from an inline bot', chat, {
      fields: { via_bot: { id: 5, is_bot: true, first_name: 'x' } },
    });
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/\(ignored\): its channel does not forward .*written through an inline bot/);
  });

  it('2: its sender has no access, or did not mention the bot in a group', async () => {
    for (const _ of [1, 2]) fixture().telegram.says('9100', 'let me in', '9100');
    await expect
      .poll(() => trace('telegram:9100'), WAIT)
      .toMatch(/\(pairing\): its sender has no access yet/);
    await expect
      .poll(() => trace('telegram:9100'), WAIT)
      .toMatch(/\(denied\): .*no access.*a code was given in the last hour/);
    fixture().telegram.says(GROUP, 'nobody asked the bot', OWNER_ID);
    await expect
      .poll(() => trace(`telegram:${GROUP}`), WAIT)
      .toMatch(/\(not_mentioned\): it did not mention the bot/);
  });

  it('3: its sender wrote too fast', async () => {
    const chat = person();
    for (let n = 0; n < 7; n += 1) says(chat, `quick ${n}`);
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/\(rate_limited\): its sender wrote too fast/);
  });

  it('4: too many messages of its session are waiting', async () => {
    const chat = person();
    fixture().ollama.answer({ text: 'late', hold: true }, { when: `block ${chat}` });
    says(chat, `block ${chat}`);
    const call = await fixture().modelCall(`block ${chat}`);
    await fixture().sql`update lane set tail = tail + 200 where key = ${`in:telegram:${chat}`}`;
    says(chat, 'one more');
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/\(queue_full\): too many messages of the session are already waiting/);
    await fixture().sql`update lane set tail = tail - 200 where key = ${`in:telegram:${chat}`}`;
    call.release();
    await fixture().idle(`telegram:${chat}`);
  });

  it('5: every gateway runs as many turns as it may; and while it is running, what it waits for', async () => {
    const busy = [person(), person(), person()];
    for (const chat of busy) {
      fixture().ollama.answer({ text: 'late', hold: true }, { when: `hold ${chat}` });
      says(chat, `hold ${chat}`);
    }
    const calls = await Promise.all(busy.map((chat) => fixture().modelCall(`hold ${chat}`)));
    const chat = person();
    says(chat, `no room ${chat}`);
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/no gateway has room for it: 1 gateway runs 3 turns \(turns\.concurrency\)/);
    const [first = ''] = busy;
    says(first, 'behind it');
    await expect
      .poll(() => trace(`telegram:${first}`), WAIT)
      .toMatch(/waiting behind 1 earlier message of its session; turn \S+ at the head is running/);
    const [running] = await turnsOf(first);
    const answer = await fixture().call(`/v1/turns/${running?.id}/trace`);
    expect(await answer.json()).toMatchObject({
      code: 'running',
      why: /It has been waiting for the model .* for/,
    });
    for (const call of calls) call.release();
    await Promise.all([...busy, chat].map((one) => fixture().idle(`telegram:${one}`)));
  });

  it('6: it joined the previous turn', async () => {
    const chat = person();
    says(chat, '/queue steer');
    await vi.waitFor(() => expect(screen(chat).join()).toContain('steer'), WAIT);
    fixture().ollama.answer(
      { toolCalls: [{ name: 'list_dir', args: { path: '.' } }], hold: true },
      { when: `go ${chat}` },
    );
    says(chat, `go ${chat}`);
    const call = await fixture().modelCall(`go ${chat}`);
    says(chat, `also ${chat}`);
    await vi.waitFor(async () => expect(await turnsOf(chat)).toHaveLength(2), WAIT);
    call.release();
    await fixture().idle(`telegram:${chat}`);
    const [first] = await turnsOf(chat);
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(new RegExp(`joined into turn ${first?.id}`));
    await expect
      .poll(() => trace(first?.id ?? ''), WAIT)
      .toMatch(/one more of the sender[\s\S]*tool list_dir|tool list_dir[\s\S]*one more of the sender/);
  });

  it('7: it waits for a person', async () => {
    const chat = person();
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: chat } }] },
      { when: `wipe ${chat}` },
    );
    says(chat, `wipe ${chat}`);
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/It has waited .* for a person to approve the tool wipe, for at most/);
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/parked: nothing is held while it waits/);
    await vi.waitFor(() => fixture().telegram.press(chat, 'Deny', chat), WAIT);
    await fixture().idle(`telegram:${chat}`);
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/Answered in[\s\S]*approval requested for the tool wipe[\s\S]*denied by/);
  });

  it('8: the model had nothing to say', async () => {
    const chat = person();
    fixture().ollama.answer({ text: 'NOTHING' }, { when: `quiet ${chat}` });
    await fixture().store.ledger.accept({
      message: {
        id: `q${chat}`,
        channel: 'system',
        chatId: chat,
        senderId: 'heartbeat',
        content: `quiet ${chat}`,
        timestamp: 0,
        media: [],
        place: 'private',
        mentioned: true,
        sessionKey: `telegram:${chat}`,
      },
      address: `telegram:${chat}`,
      entry: 'runStream',
      silentToken: 'NOTHING',
    });
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/The model answered only with the silent token, so nothing was sent/);
  });

  it('9 and 10: the platform does not accept its answer, and then it is given up', async () => {
    const chat = person();
    fixture().ollama.answer({ text: 'an answer', hold: true }, { when: `away ${chat}` });
    says(chat, `away ${chat}`);
    const call = await fixture().modelCall(`away ${chat}`);
    const { telegram } = fixture();
    telegram.outage = 'page';
    call.release();
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/Its answer is written, but the platform does not accept it: .*the next try is in/);
    await fixture().sql`update lane_item set waited_ms = 86400000 where lane = ${`out:telegram:${chat}`}`;
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(/Its answer is written, but its delivery was given up: .*parley dead-letters/);
    telegram.outage = undefined;
  });

  it('is shown in the chat to owners, with /why, and on a failed turn names the error', async () => {
    const chat = person();
    says(chat, '/why');
    await vi.waitFor(() => expect(screen(chat).at(-1)).toMatch(/Only an owner can see/), WAIT);
    fixture().ollama.answer(
      { failure: { kind: 'status', status: 400, error: 'this model is broken' } },
      { when: 'fail for me', times: Infinity },
    );
    fixture().telegram.says(OWNER_ID, 'fail for me', OWNER_ID);
    await vi.waitFor(() => expect(screen(OWNER_ID)).toHaveLength(1), WAIT);
    fixture().telegram.says(OWNER_ID, '/why', OWNER_ID);
    await vi.waitFor(
      () => expect(screen(OWNER_ID).at(-1)).toMatch(/It failed with \w+: .*broken[\s\S]*npx parley trace/),
      WAIT,
    );
  });

  it('includes the timeline of an answered turn: queue, context, model call, tools, delivery; the newest one by "last"', async () => {
    const chat = person();
    fixture().ollama.answer(
      { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] },
      { when: `look ${chat}` },
    );
    says(chat, `look ${chat}`);
    await vi.waitFor(() => expect(screen(chat)).toHaveLength(1), WAIT);
    await fixture().idle(`telegram:${chat}`);
    const order = [
      'was accepted',
      'in the queue on node',
      String.raw`\] model call 1: .* tokens in, .* out, first token after .*prompt ≈ system .* tools`,
      String.raw`\] tool list_dir`,
      String.raw`\] model call 2: `,
      'the turn ended: completed',
      'delivered',
    ];
    await expect
      .poll(() => trace(`telegram:${chat}`), WAIT)
      .toMatch(new RegExp(order.join(String.raw`[\s\S]*`)));
    await expect.poll(() => trace('last'), WAIT).toMatch(new RegExp(`of telegram:${chat}`));
  });
});
