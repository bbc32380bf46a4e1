/** Standing approvals: the rules that people store with a decision, used and revoked. */
import {
  type ApprovalRule,
  type ApprovalRuleStore,
  MAX_LISTED_RULES,
} from '../../../contracts/tools/approvals.ts';
import { cleanText } from '../../../lib/text.ts';
import type { Database, Sql } from '../../database/database.ts';
import { asSessionKey } from '../session-rows.ts';

interface RuleRow {
  id: string;
  session: string;
  tool: string;
  args: unknown;
  userId: string;
  createdBy: string;
  createdName: string | null;
  createdAt: string;
  uses: number;
  usedAt: string | null;
}

/** The `ApprovalRuleStore` over a database. */
export function createApprovalRules(database: Database): ApprovalRuleStore {
  return {
    rules: (filter) =>
      database.run(async (sql) => {
        const rows = await sql<RuleRow[]>`
          select r.id, r.session, r.tool, r.args, r.user_id as "userId", r.created_by as "createdBy",
            r.created_name as "createdName", r.created_at as "createdAt", r.uses, r.used_at as "usedAt"
          from approval_rule r where ${among(sql, filter)}
          order by r.created_at desc, r.id limit ${MAX_LISTED_RULES}`;
        return rows.map(toRule);
      }),
    hasRule: (session, digest) =>
      database.run(async (sql) => {
        const rows = await sql`
          select 1 from approval_rule where session = ${cleanText(session)} and digest = ${digest}`;
        return rows.length > 0;
      }),
    useRule: (session, digest) =>
      database.run(async (sql) => {
        const [row] = await sql<{ id: string }[]>`
          update approval_rule set uses = uses + 1, used_at = now()
          where session = ${cleanText(session)} and digest = ${digest} returning id`;
        return row?.id;
      }),
    removeRule: (id, filter) =>
      database.run(async (sql, attempt) => {
        const gone = await sql`
          delete from approval_rule r where r.id = ${cleanText(id)} and ${among(sql, filter)} returning r.id`;
        // On a repeat, the previous attempt may have removed it.
        return gone.length > 0 || attempt > 0;
      }),
  };
}

function among(sql: Sql, { session, ownerTokenId }: Parameters<ApprovalRuleStore['rules']>[0]) {
  const inSession = session === undefined ? sql`true` : sql`r.session = ${cleanText(session)}`;
  if (ownerTokenId === undefined) return inSession;
  return sql`${inSession} and exists (
    select from session s where s.key = r.session and s.owner_token_id = ${ownerTokenId})`;
}

function toRule({ createdName, createdAt, usedAt, session, ...row }: RuleRow): ApprovalRule {
  return {
    ...row,
    session: asSessionKey(session),
    createdName: createdName ?? undefined,
    createdAt: new Date(createdAt),
    usedAt: usedAt === null ? undefined : new Date(usedAt),
  };
}
