/** The events with which Discord reports deleted messages: Message Delete and Message Delete Bulk. Pure. */
import { z } from 'zod';
import { Snowflake } from '../receiving/quoted.ts';

const Deleted = z.object({ id: Snowflake, channel_id: Snowflake });
const DeletedInBulk = z.object({ ids: z.array(Snowflake).min(1), channel_id: Snowflake });

export interface Deletion {
  channelId: string;
  messageIds: readonly string[];
}

/** Undefined for anything else. */
export function readDeletion(name: string, event: unknown): Deletion | undefined {
  if (name === 'MESSAGE_DELETE_BULK') {
    const { data } = DeletedInBulk.safeParse(event);
    return data && { channelId: data.channel_id, messageIds: data.ids };
  }
  const { data } = Deleted.safeParse(event);
  return name === 'MESSAGE_DELETE' && data !== undefined
    ? { channelId: data.channel_id, messageIds: [data.id] }
    : undefined;
}
