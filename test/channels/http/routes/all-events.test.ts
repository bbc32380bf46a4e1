/** The stream for lists of sessions: what a token may see is asked once, and the order of events stays. */
import { expect, it } from 'vitest';
import { followAll } from '../../../../channels/http/routes/events.ts';
import type { Caller } from '../../../../src/protocol/access.ts';
import { type AgentEvent, EVENTS } from '../../../../src/protocol/event.ts';
import type { GatewayApi } from '../../../../src/protocol/gateway-api.ts';

const FRIEND: Caller = { tokenId: 'friend', scopes: ['chat'] };
const OWNER: Caller = { tokenId: 'owner', scopes: ['admin'] };
const SESSION = 'http:friends';

/** A gateway that answers each question about a session when the test says so, and a reader of its events. */
function openStream(caller: Caller) {
  const asked: PromiseWithResolvers<object | undefined>[] = [];
  let emit: (event: AgentEvent) => void = () => undefined;
  const gateway = {
    subscribe(_filter: object, listener: typeof emit) {
      emit = listener;
      return () => undefined;
    },
    async session() {
      const answer = Promise.withResolvers<object | undefined>();
      asked.push(answer);
      return await answer.promise;
    },
  } as unknown as GatewayApi;
  const received: string[] = [];
  const end = followAll(gateway, caller, (json) => received.push(JSON.parse(json).type));
  const happens = (...types: AgentEvent['type'][]): void => {
    for (const type of types) emit({ type, sessionKey: SESSION, at: 0, reason: 'completed' } as AgentEvent);
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { asked, received, end, happens, settled };
}

it('asks once whether a token may see a session, and keeps the order of what happened in the meantime', async () => {
  const { asked, received, happens, settled } = openStream(FRIEND);
  happens('turn_started', 'turn_ended', 'turn_started');
  expect(asked).toHaveLength(1);
  asked[0]?.resolve({});
  happens('turn_ended');
  await settled();
  expect(received).toEqual(['turn_started', 'turn_ended', 'turn_started', 'turn_ended']);
  happens('turn_started');
  await settled();
  expect([received.length, asked.length]).toEqual([5, 1]);
});

it('hides sessions that the token may not see, and immediately shows everything to an admin', async () => {
  const friend = openStream(FRIEND);
  friend.happens('turn_started');
  friend.asked[0]?.resolve(undefined);
  friend.happens('turn_ended');
  await friend.settled();
  expect(friend.received).toEqual([]);
  const owner = openStream(OWNER);
  owner.happens('turn_started');
  expect([owner.received, owner.asked]).toEqual([['turn_started'], []]);
});

it('asks again after a failure, and after the session was deleted', async () => {
  const { asked, received, happens, settled } = openStream(FRIEND);
  happens('turn_started');
  asked[0]?.reject(new Error('the database is away'));
  await settled();
  happens('turn_ended');
  asked[1]?.resolve({});
  happens('session_deleted');
  await settled();
  expect(received).toEqual(['turn_ended', 'session_deleted']);
  happens('turn_started');
  expect(asked).toHaveLength(3);
});

it('tells a reader that has left nothing more', async () => {
  const { asked, received, end, happens, settled } = openStream(FRIEND);
  happens('turn_started');
  end();
  asked[0]?.resolve({});
  await settled();
  expect(received).toEqual([]);
});

it('passes on every kind of event of the catalogue', () => {
  const { received, happens } = openStream(OWNER);
  const types = EVENTS.map(({ shape }) => shape.type.value);
  happens(...types);
  expect(received).toEqual(types);
});

it('passes tokens and progress on once until something else happens', () => {
  const { received, happens } = openStream(OWNER);
  happens('stream_start', 'stream_chunk', 'stream_chunk', 'stream_chunk', 'stream_end');
  happens('stream_start', 'stream_chunk', 'stream_chunk', 'stream_end');
  const call = ['stream_start', 'stream_chunk', 'stream_end'];
  expect(received).toEqual([...call, ...call]);
});
