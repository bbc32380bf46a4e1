/** The fake Discord refuses what the platform refuses: a more lenient fake would hide failures. */
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { FakeDiscord } from '../../fakes/discord/discord.ts';

const Frame = z.object({
  op: z.number(),
  t: z.string().nullish(),
  s: z.number().nullish(),
  d: z.record(z.string(), z.unknown()).or(z.boolean()).nullish(),
});

describe('the fake Discord', () => {
  let discord: FakeDiscord;
  let now = Date.now();

  beforeEach(async () => {
    now = Date.now();
    discord = await FakeDiscord.open({ now: () => now, identifySpacingMs: 5_000 });
  });
  afterEach(async () => {
    await discord.close();
  });

  async function connect(query = 'v=10&encoding=json'): Promise<WebSocket> {
    const socket = new WebSocket(`${discord.gatewayUrl}/?${query}`);
    await once(socket, 'open');
    return socket;
  }
  const say = (socket: WebSocket, frame: object): void => {
    socket.send(JSON.stringify(frame));
  };
  async function closeCode(socket: WebSocket): Promise<unknown> {
    const [code]: unknown[] = await once(socket, 'close');
    return code;
  }
  /** The next frame with this opcode and event. */
  async function next(socket: WebSocket, op: number, t?: string): Promise<z.infer<typeof Frame>> {
    return await new Promise((resolve) => {
      const look = (data: Buffer): void => {
        const frame = Frame.parse(JSON.parse(data.toString('utf8')));
        if (frame.op !== op || (t !== undefined && frame.t !== t)) return;
        socket.off('message', look);
        resolve(frame);
      };
      socket.on('message', look);
    });
  }
  const identify = (intents = 1 << 9): object => ({
    op: 2,
    d: { token: discord.token, intents, properties: { os: 'x', browser: 'y', device: 'z' } },
  });

  it.each([
    [4_001, { op: 99, d: null }],
    [4_002, { op: 2, d: { token: 'x'.repeat(5_000) } }],
    [4_005, undefined],
  ])('hangs up with %i on a session', async (code, frame) => {
    const socket = await connect();
    say(socket, identify());
    await next(socket, 0, 'READY');
    const closed = closeCode(socket);
    say(socket, frame ?? identify());
    expect(await closed).toBe(code);
  });

  it.each([
    [4_003, { op: 3, d: {} }],
    [4_004, { op: 2, d: { token: 'wrong', intents: 0, properties: { os: '', browser: '', device: '' } } }],
    [4_002, 'not an object'],
  ])('hangs up with %i without one', async (code, frame) => {
    const socket = await connect();
    const closed = closeCode(socket);
    socket.send(JSON.stringify(frame));
    expect(await closed).toBe(code);
  });

  it('closes with 4013 for unknown intents, 4014 for disallowed ones, 4012 for an old version', async () => {
    discord.gateway.messageContentAllowed = false;
    const codes: unknown[] = [];
    for (const intents of [1 << 30, 1 << 15]) {
      const socket = await connect();
      const closed = closeCode(socket);
      say(socket, identify(intents));
      codes.push(await closed);
    }
    codes.push(await closeCode(await connect('v=9&encoding=json')));
    expect(codes).toEqual([4_013, 4_014, 4_012]);
  });

  it('accepts one identify per five seconds', async () => {
    say(await connect(), identify());
    const hasty = await connect();
    const invalid = next(hasty, 9);
    say(hasty, identify());
    expect((await invalid).d).toBe(false);
    now += 5_000;
    const ready = next(hasty, 0, 'READY');
    say(hasty, identify());
    expect((await ready).s).toBe(1);
  });

  it('replays missed events and refuses a sequence number that it never reached (4007)', async () => {
    const room = discord.platform.addChannel(0);
    const socket = await connect();
    say(socket, identify());
    const { d } = await next(socket, 0, 'READY');
    socket.terminate();
    discord.says(room, 'one', discord.person('Ada'));
    const resume = (seq: number): object => {
      const session = typeof d === 'object' ? d?.session_id : undefined;
      return { op: 6, d: { token: discord.token, session_id: session, seq } };
    };
    const again = await connect();
    const missed = next(again, 0, 'MESSAGE_CREATE');
    say(again, resume(1));
    expect((await missed).s).toBe(2);
    const liar = await connect();
    const closed = closeCode(liar);
    say(liar, resume(99));
    expect(await closed).toBe(4_007);
  });

  const begin = async (): Promise<{ socket: WebSocket; resume: object }> => {
    const socket = await connect();
    const ready = next(socket, 0, 'READY');
    say(socket, identify());
    const { d } = await ready;
    const id = typeof d === 'object' ? d?.session_id : undefined;
    return { socket, resume: { op: 6, d: { token: discord.token, session_id: id, seq: 1 } } };
  };
  /** The answer to a resume: op 9, or the event RESUMED. */
  const resumed = async (resume: object): Promise<boolean> => {
    const socket = await connect();
    const answers = Promise.race([
      next(socket, 9).then(() => false),
      next(socket, 0, 'RESUMED').then(() => true),
    ]);
    say(socket, resume);
    return await answers;
  };

  it.each([
    ['after five minutes without a connection', (): void => void (now += 300_001), false],
    ['within five minutes', (): void => void (now += 299_000), true],
    [
      'once more events were missed than are kept',
      (): void => {
        const room = discord.platform.addChannel(0);
        const ada = discord.person('Ada');
        for (let n = 0; n <= 5_000; n += 1) discord.says(room, `${n}`, ada);
      },
      false,
    ],
  ])('resumes a session %s: or not', async (_when, wait, may) => {
    const { socket, resume } = await begin();
    socket.terminate();
    await expect.poll(() => discord.gateway.open).toBe(0);
    wait();
    expect(await resumed(resume)).toBe(may);
  });

  it('ends the session of a client that closes with 1000, and keeps it for any other code', async () => {
    const first = await begin();
    first.socket.close(4_200);
    await closeCode(first.socket);
    expect(await resumed(first.resume)).toBe(true);
    now += 5_000;
    const second = await begin();
    second.socket.close(1_000);
    await closeCode(second.socket);
    expect(await resumed(second.resume)).toBe(false);
  });

  it('closes the connection of a session that is resumed over another', async () => {
    const { socket, resume } = await begin();
    const closed = closeCode(socket);
    expect(await resumed(resume)).toBe(true);
    expect(await closed).toBe(4_000);
  });

  it('resets the token at the first session past the limit of a day', async () => {
    discord.gateway.counts.startsLeft = 1;
    await begin();
    now += 5_000;
    const past = await connect();
    const closed = closeCode(past);
    say(past, identify());
    expect(await closed).toBe(4_004);
    expect(discord.gateway.tokenReset).toBe(true);
  });

  it('closes with 4008 after 120 payloads in a minute', async () => {
    const { socket } = await begin();
    const closed = closeCode(socket);
    for (let n = 0; n < 119; n += 1) say(socket, { op: 1, d: null });
    expect(socket.readyState).toBe(WebSocket.OPEN);
    say(socket, { op: 1, d: null });
    expect(await closed).toBe(4_008);
  });

  it('hides the text of server messages from a session without the Message Content intent', async () => {
    const room = discord.platform.addChannel(0);
    const socket = await connect();
    say(socket, identify());
    await next(socket, 0, 'READY');
    for (const mention of [false, true]) {
      const heard = next(socket, 0, 'MESSAGE_CREATE');
      discord.says(room, 'text', discord.person('Ada'), { mention });
      const { d } = await heard;
      expect(typeof d === 'object' && d?.content !== '').toBe(mention);
    }
  });

  async function rest(
    method: string,
    path: string,
    body?: object,
    token = discord.token,
  ): Promise<[number, unknown]> {
    const response = await fetch(`${discord.apiRoot}/v10${path}`, {
      method,
      headers: { Authorization: `Bot ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? {} : JSON.parse(text);
    const fields = z.object({ code: z.number().optional(), message: z.string().optional() }).parse(parsed);
    return [response.status, fields.code ?? fields.message];
  }

  it('refuses bad messages with the codes of the platform', async () => {
    const { id } = discord.platform.addChannel(0);
    const messages = `/channels/${id}/messages`;
    const other = discord.platform.add(id, discord.person('Ada'), 'hers');
    expect(await rest('GET', '/users/@me', undefined, 'wrong')).toEqual([401, 0]);
    expect(await rest('POST', messages, { content: ' \n ' })).toEqual([400, 50_006]);
    expect(await rest('POST', messages, { content: 'x'.repeat(2_001) })).toEqual([400, 50_035]);
    expect(await rest('POST', messages, { content: 'x', nonce: 'n'.repeat(26) })).toEqual([400, 50_035]);
    expect(await rest('POST', messages, { content: 'x', flags: 1 << 7 })).toEqual([400, 50_035]);
    expect(await rest('POST', messages, { content: 'x', message_reference: { message_id: '1' } })).toEqual([
      400, 50_035,
    ]);
    expect(await rest('PATCH', `${messages}/${other.id}`, { content: 'mine' })).toEqual([403, 50_005]);
    expect(await rest('PATCH', `${messages}/111111111111111111`, { content: 'x' })).toEqual([404, 10_008]);
    expect(await rest('POST', '/channels/111111111111111111/messages', { content: 'x' })).toEqual([
      404, 10_003,
    ]);
    expect(discord.limits.invalid).toBe(2);
  });

  it('enforces the limits of interactions: 3 seconds, one answer, 15 minutes', async () => {
    const { platform } = discord;
    const room = platform.addChannel(0);
    const [used, late] = [
      platform.addInteraction(room.id, discord.person('A'), 2),
      platform.addInteraction(room.id, discord.person('B'), 2),
    ];
    const callback = (one: typeof used): string => `/interactions/${one.id}/${one.token}/callback`;
    const original = `/webhooks/${platform.applicationId}/${used.token}/messages/@original`;
    expect(await rest('PATCH', original, { content: 'x' })).toEqual([404, 10_015]);
    expect(await rest('POST', callback(used), { type: 5 })).toEqual([204, undefined]);
    expect(await rest('POST', callback(used), { type: 5 })).toEqual([400, 40_060]);
    now += 3_001;
    expect(await rest('POST', callback(late), { type: 5 })).toEqual([404, 10_062]);
    now += 15 * 60_000;
    expect(await rest('PATCH', original, { content: 'x' })).toEqual([401, 50_027]);
  });

  it('counts calls made before a 429 has passed', async () => {
    const { id } = discord.platform.addChannel(0);
    discord.rateLimit(2_000);
    const send = async (): Promise<number> =>
      (await rest('POST', `/channels/${id}/messages`, { content: 'x' }))[0];
    expect([await send(), await send()]).toEqual([429, 429]);
    now += 2_000;
    expect(await send()).toBe(200);
    expect(discord.limits).toMatchObject({ early: 1, refused: 2, invalid: 2 });
  });
});
