/** Rows of `session` and `message` as the contracts show them. */
import type { SessionKey } from '../../protocol/message.ts';
import type { MessageRecord, SessionRecord } from '../../protocol/store/records.ts';
import type { Source } from '../../protocol/agent/risk.ts';
import type { message } from '../database/schema.ts';

/** A row of `session`, read with drizzle or as the JSON of a statement. */
export interface SessionRow {
  key: string;
  profileId: string;
  profileChosen: boolean;
  model: string | null;
  mode: SessionRecord['mode'];
  queueMode: SessionRecord['queueMode'];
  ownerTokenId: string | null;
  title: string | null;
  folder: string;
  sources: Source[];
  pinned: boolean;
  archived: boolean;
  readSeq: number;
  voice: boolean;
  voiceFailing: boolean;
  messageSeq: number;
  freshAt: Date | string | null;
  createdAt: Date | string;
  updatedAt: Date | string;
}

export function toSession(row: SessionRow): SessionRecord {
  return {
    key: asSessionKey(row.key),
    profileId: row.profileId,
    // Earlier versions did not record that someone had chosen one.
    profileChosen: row.profileChosen || row.profileId !== 'default',
    model: row.model ?? undefined,
    mode: row.mode,
    queueMode: row.queueMode,
    ownerTokenId: row.ownerTokenId ?? undefined,
    title: row.title ?? undefined,
    folder: row.folder,
    sources: row.sources,
    pinned: row.pinned,
    archived: row.archived,
    readSeq: row.readSeq,
    voice: row.voice,
    voiceFailing: row.voiceFailing,
    freshAt: new Date(row.freshAt ?? row.createdAt),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    messageCount: row.messageSeq,
  };
}

export function toMessage(row: typeof message.$inferSelect): MessageRecord {
  const { seq, turnId, role, content, senderName, isPlan, isError, attachments, createdAt } = row;
  const files = attachments === null ? {} : { attachments };
  const shown = { seq, turnId, role, content, senderName: senderName ?? undefined, isPlan, isError };
  return { ...shown, ...files, createdAt };
}

/** Keys in the tables were session keys when they were written. */
export function asSessionKey(key: string): SessionKey {
  const colon = key.indexOf(':');
  return `${key.slice(0, colon)}:${key.slice(colon + 1)}`;
}
