/** A session of the fake gateway. */
import type { Caller } from '../../../src/protocol/access.ts';
import { GatewayError } from '../../../src/protocol/errors.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { FoundSession, ListedSession } from '../../../src/protocol/sessions/session-list.ts';
import type { InboundMessage, SessionKey } from '../../../src/protocol/message.ts';
import type { Receipt } from '../../../src/protocol/receive.ts';
import type { MessageRecord, SessionRecord } from '../../../src/protocol/store/records.ts';
import type { FakeTurn } from './turn.ts';

export interface FakeSession {
  record: SessionRecord;
  messages: MessageRecord[];
  queue: FakeTurn[];
}

export function mayRead(record: SessionRecord, caller: Caller): boolean {
  return caller.scopes.includes('admin') || record.ownerTokenId === caller.tokenId;
}

/** The receipt of a message that has already arrived; undefined for a new one. */
export function repeatOf(
  message: InboundMessage,
  turns: readonly FakeTurn[],
  session: FakeSession,
): Receipt | undefined {
  const turn = turns.find((one) => one.message.id === message.id && one.message.chatId === message.chatId);
  if (turn === undefined) return undefined;
  const seq = session.messages.find((row) => row.turnId === turn.id)?.seq ?? 0;
  const differs = turn.message.content !== message.content;
  return { kind: 'duplicate', turnId: turn.id, seq, ...(differs && { differs }) };
}

/** The newest message that the caller sent to the session. */
export function newestOf(
  turns: readonly FakeTurn[],
  caller: Caller,
  key: SessionKey,
): Awaited<ReturnType<GatewayApi['newestOwnMessage']>> {
  const own = turns.findLast(
    ({ message }) => `http:${message.chatId}` === key && message.senderId === `token:${caller.tokenId}`,
  );
  if (own === undefined) return undefined;
  const { content, timestamp } = own.message;
  return { turnId: own.id, seq: 1, content, sentAt: timestamp };
}

export function refused(code: Extract<Receipt, { kind: 'refused' }>['code'], reply: string): Receipt {
  return { kind: 'refused', code, reply };
}

const MODES = ['planner', 'agentic', 'teacher'] as const;

/** The sessions that the caller may see, newest first, the pinned ones before them. */
export function listed(
  sessions: readonly FakeSession[],
  caller: Caller,
  { limit, before, archived = false }: Parameters<GatewayApi['sessions']>[1],
): ListedSession[] {
  return sessions
    .filter(({ record }) => mayRead(record, caller) && record.archived === archived)
    .filter(({ record }) => before === undefined || record.updatedAt < before)
    .toSorted(
      ({ record: a }, { record: b }) =>
        Number(b.pinned) - Number(a.pinned) || b.updatedAt.getTime() - a.updatedAt.getTime(),
    )
    .slice(0, limit)
    .map(({ record, messages, queue }) => ({
      ...record,
      ownerName: record.ownerTokenId,
      preview: messages[0]?.content ?? '',
      state: queue.length > 0 ? 'running' : 'idle',
      queued: Math.max(0, queue.length - 1),
      unread: record.messageCount - record.readSeq,
    }));
}

/** The sessions with a message that contains the text. */
export function foundIn(sessions: readonly FakeSession[], caller: Caller, text: string): FoundSession[] {
  return listed(sessions, caller, { limit: sessions.length }).flatMap(({ key, preview, updatedAt }) => {
    const messages = sessions.find(({ record }) => record.key === key)?.messages ?? [];
    const match = messages.findLast(({ content }) => content.toLowerCase().includes(text.toLowerCase()));
    const { seq, role, createdAt, content } = match ?? {};
    if (seq === undefined || role === undefined || createdAt === undefined) return [];
    return [{ key, title: preview, updatedAt, match: { seq, role, createdAt, snippet: content ?? '' } }];
  });
}

/** Changes the record in place. Throws `GatewayError` for what the caller may not change, or what does not exist. */
export function changeRecord(
  record: SessionRecord,
  caller: Caller,
  change: Parameters<GatewayApi['updateSession']>[2],
): SessionRecord {
  const { profileId, model, mode, title, ...marks } = change;
  const chooses = profileId !== undefined || model !== undefined;
  if (chooses && !caller.scopes.includes('admin'))
    throw new GatewayError('forbidden', 'Only an owner changes models.');
  if (model !== undefined && model !== null && model !== 'tiny:1b')
    throw new GatewayError('unknown_model', `There is no model "${model}".`);
  if (model !== undefined) record.model = model ?? undefined;
  if (title !== undefined) record.title = title ?? undefined;
  record.profileId = profileId ?? record.profileId;
  record.mode = MODES.find((name) => name === mode) ?? record.mode;
  return Object.assign(record, { ...marks, queueMode: record.queueMode });
}
