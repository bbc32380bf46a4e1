/** The bot's reactions to questions, and its role in servers: what is remembered, and how much of it. */
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { Guilds, MAX_GUILDS, MAX_NAMED_GUILDS } from '../../../../channels/discord/guilds.ts';
import { questionReactions } from '../../../../channels/discord/reactions.ts';
import { MAX_REACTIONS } from '../../../../src/protocol/channel-parts.ts';
import { ChannelError } from '../../../../src/protocol/errors.ts';
import { restOf } from '../../../fakes/discord/partial.ts';

/** Calls as `put ✅`, in order. */
function recording(fail?: (line: string) => ChannelError | undefined) {
  const calls: string[] = [];
  const rest = restOf(({ method, path }) => {
    const emoji = decodeURIComponent(/reactions\/([^/]+)/.exec(path)?.[1] ?? '');
    const line = `${method} ${emoji}`;
    calls.push(line);
    const failure = fail?.(line);
    return failure === undefined ? Promise.resolve(undefined) : Promise.reject(failure);
  });
  return { calls, rest };
}

const question = (messageId: string) => ({
  channel: 'discord',
  chatId: '11',
  messageId,
  place: 'group' as const,
});

describe('reactions to questions', () => {
  it('replace each other, and a question that was just asked costs no needless call', async () => {
    const { calls, rest } = recording();
    const reactions = questionReactions(rest, () => 0);
    reactions.arrived(question('1'));
    await reactions.show(question('1'), 'working');
    await reactions.show(question('1'), 'done');
    expect(calls).toEqual(['put 👀', 'put ✅', 'delete 👀']);
  });

  it('that another node has shown are removed with the last one', async () => {
    const { calls, rest } = recording();
    const reactions = questionReactions(rest, () => 0);
    await reactions.show(question('1'), 'working');
    await reactions.show(question('1'), 'failed');
    expect(calls).toEqual(['put 👀', 'put ❌', 'delete ⏳', 'delete 👀']);
  });

  it('ignore a reaction that is already gone; a refusal for lack of a permission is reported', async () => {
    const gone = recording((line) =>
      line.startsWith('delete') ? new ChannelError('rejected', 'Unknown Emoji') : undefined,
    );
    await questionReactions(gone.rest, () => 0).show(question('1'), 'none');
    expect(gone.calls).toEqual(['delete ⏳', 'delete 👀']);
    const closed = recording(() => new ChannelError('blocked', 'no permission', { retryable: true }));
    const refused = questionReactions(closed.rest, () => 0).show(question('1'), 'done');
    await expect(refused).rejects.toMatchObject({ code: 'rejected', retryable: false });
  });

  it('retry a removal that was refused as too fast with the next attempt, without a second reaction', async () => {
    let refusals = 1;
    const { calls, rest } = recording((line) =>
      line.startsWith('delete') && refusals-- > 0
        ? new ChannelError('rate_limited', 'wait', { retryable: true, retryAfterMs: 1 })
        : undefined,
    );
    const reactions = questionReactions(rest, () => 0);
    reactions.arrived(question('1'));
    await reactions.show(question('1'), 'working');
    await expect(reactions.show(question('1'), 'done')).rejects.toMatchObject({ code: 'rate_limited' });
    await reactions.show(question('1'), 'done');
    expect(calls).toEqual(['put 👀', 'put ✅', 'delete 👀', 'delete 👀']);
  });

  it(`are remembered for the ${MAX_REACTIONS} newest questions`, async () => {
    const { calls, rest } = recording();
    const reactions = questionReactions(rest, () => 0);
    for (let n = 0; n <= MAX_REACTIONS; n += 1) reactions.arrived(question(`${n}`));
    await reactions.show(question('1'), 'done');
    await reactions.show(question('0'), 'done');
    expect(calls).toEqual(['put ✅', 'put ✅', 'delete ⏳', 'delete 👀']);
  });
});

describe("the bot's role in a server", () => {
  const log = pino({ level: 'silent' });

  it(`is requested once, and remembered for the ${MAX_GUILDS} servers that were requested last`, async () => {
    const asked: string[] = [];
    const rest = restOf(({ path }) => {
      asked.push(path);
      return Promise.resolve([{ id: '7', tags: { bot_id: '2' } }, { id: '8' }]);
    });
    const guilds = new Guilds(rest, log, () => 0);
    for (let n = 0; n <= MAX_GUILDS; n += 1) expect(await guilds.botRole(`${n}`, '2')).toBe('7');
    expect(await guilds.botRole('1', '2')).toBe('7');
    expect(asked).toHaveLength(MAX_GUILDS + 1);
    await guilds.botRole('0', '2');
    expect(asked).toHaveLength(MAX_GUILDS + 2);
  });

  it('is requested again after an outage, and not after a refusal', async () => {
    for (const [retryable, times] of [
      [true, 2],
      [false, 1],
    ] as const) {
      let calls = 0;
      const rest = restOf(() => {
        calls += 1;
        return Promise.reject(new ChannelError(retryable ? 'unavailable' : 'blocked', 'no', { retryable }));
      });
      const guilds = new Guilds(rest, log, () => 0);
      expect(await guilds.botRole('1', '2')).toBeUndefined();
      expect(await guilds.botRole('1', '2')).toBeUndefined();
      expect(calls).toBe(times);
    }
  });
});

describe('the names of a server', () => {
  it(`are requested once, and remembered for the ${MAX_NAMED_GUILDS} servers that were requested last`, async () => {
    const asked: string[] = [];
    const rest = restOf(({ path }) => {
      asked.push(path);
      const one = path.endsWith('/roles') ? { id: '7', name: 'Gardeners' } : { id: '8', name: 'garden' };
      return Promise.resolve([one]);
    });
    const guilds = new Guilds(rest, pino({ level: 'silent' }), () => 0);
    for (let n = 0; n <= MAX_NAMED_GUILDS; n += 1)
      expect([...(await guilds.names(`${n}`))]).toEqual([
        ['8', 'garden'],
        ['7', 'Gardeners'],
      ]);
    await guilds.names('1');
    expect(asked).toHaveLength(2 * (MAX_NAMED_GUILDS + 1));
    await guilds.names('0');
    expect(asked).toHaveLength(2 * (MAX_NAMED_GUILDS + 2));
  });

  it('are not requested again after a failure: the ids stay', async () => {
    let calls = 0;
    const rest = restOf(() => {
      calls += 1;
      return Promise.reject(new ChannelError('blocked', 'no'));
    });
    const guilds = new Guilds(rest, pino({ level: 'silent' }), () => 0);
    for (let n = 0; n < 2; n += 1) expect((await guilds.names('1')).size).toBe(0);
    expect(calls).toBe(2);
  });
});
