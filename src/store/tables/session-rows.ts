/** Rows of `session` and `message` as the contracts show them. */
import type { SessionKey } from '../../contracts/message.ts';
import type { MessageRecord, SessionRecord } from '../../contracts/records.ts';
import type { message } from '../database/schema.ts';

/** A row of `session`, read with drizzle or as the JSON of a statement. */
export interface SessionRow {
  key: string;
  profileId: string;
  model: string | null;
  mode: SessionRecord['mode'];
  queueMode: SessionRecord['queueMode'];
  ownerTokenId: string | null;
  messageSeq: number;
  createdAt: Date | string;
  updatedAt: Date | string;
}

export function toSession(row: SessionRow): SessionRecord {
  return {
    key: asSessionKey(row.key),
    profileId: row.profileId,
    model: row.model ?? undefined,
    mode: row.mode,
    queueMode: row.queueMode,
    ownerTokenId: row.ownerTokenId ?? undefined,
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    messageCount: row.messageSeq,
  };
}

export function toMessage(row: typeof message.$inferSelect): MessageRecord {
  const { seq, turnId, role, content, senderName, isPlan, isError, createdAt } = row;
  return { seq, turnId, role, content, senderName: senderName ?? undefined, isPlan, isError, createdAt };
}

/** Keys in the tables were session keys when they were written. */
export function asSessionKey(key: string): SessionKey {
  const colon = key.indexOf(':');
  return `${key.slice(0, colon)}:${key.slice(colon + 1)}`;
}
