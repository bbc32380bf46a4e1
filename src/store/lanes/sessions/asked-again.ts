/** The message of a question that is asked again, and what its earlier answers have already done. */
import { STEP_ITERATIONS } from '../../../contracts/store/records.ts';
import { estimateTokens } from '../../../lib/tokens.ts';
import type { Sql } from '../../database/database.ts';

/** Maximum number of tools that are named; further ones are counted. */
const MAX_NAMED_EFFECTS = 20;

/** The tools that earlier answers have called and that may have changed something, each once: only their calls have an intent. */
export async function effectsOf(sql: Sql, first: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct c.payload ->> 'toolName' as name from context c join turn t on t.id = c.turn_id
    where (t.id = ${first} or t.retry_of = ${first}) and c.kind = 'tool_intent' order by 1`;
  const names = rows.map(({ name }) => name);
  const more = names.length - MAX_NAMED_EFFECTS;
  return more > 0 ? [...names.slice(0, MAX_NAMED_EFFECTS), `${more} more`] : names;
}

/**
 * Begins the journal of the new turn with the messages of the earlier one, including those that joined it; none if
 * that one never began. The model reads that it has answered before, and which tools were called for it.
 */
export async function copyQuestion(
  sql: Sql,
  from: string,
  into: { session: string; laneSeq: number; turnId: string },
  effects: readonly string[],
): Promise<void> {
  const note = effects.length === 0 ? '' : noteOf(effects);
  await sql`
    insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
    select ${into.session}, ${into.laneSeq}, ${into.turnId}, 0, 'user', c.part,
      case when c.part = 0 and ${note} <> '' then c.payload || jsonb_build_object(
        'content', split_part(c.payload ->> 'content', ${NOTE}, 1) || ${note},
        'typed', coalesce(c.payload ->> 'typed', c.payload ->> 'content')) else c.payload end,
      c.tokens + case when c.part = 0 then ${estimateTokens(note)}::int else 0 end
    from context c
    where c.turn_id = ${from} and c.kind = 'user' and c.iteration < ${STEP_ITERATIONS}
    order by c.seq`;
}

const NOTE = '\n[Note of the gateway: ';

function noteOf(effects: readonly string[]): string {
  return `${NOTE}this message was answered before, and that answer is set aside. The tools it called have run and are not undone: ${effects.join(', ')}. Look at what is there before you do anything twice.]`;
}
