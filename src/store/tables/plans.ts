/** Plans in their current state, and what users requested of them. */
import { cleanJson } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { PlanRecord, PlanStore } from '../../contracts/plan-store.ts';
import type { Database } from '../database/database.ts';
import { desc, eq, sql } from '../database/drizzle.ts';
import { plan as plans } from '../database/schema-agent.ts';
import { asSessionKey } from './session-rows.ts';

/** The `PlanStore` over a database. */
export function createPlans(database: Database): PlanStore {
  return {
    plan: (id) =>
      database.query(async (orm) => {
        const [row] = await orm
          .select()
          .from(plans)
          .where(eq(plans.id, cleanText(id)));
        return row === undefined ? undefined : toRecord(row);
      }),
    latestPlan: (session) =>
      database.query(async (orm) => {
        const own = orm
          .select()
          .from(plans)
          .where(eq(plans.session, cleanText(session)));
        const [row] = await own.orderBy(desc(plans.createdAt), desc(plans.id)).limit(1);
        return row === undefined ? undefined : toRecord(row);
      }),
    planRequests: (id) =>
      database.query(async (orm) => {
        const found = orm
          .select({ request: plans.request })
          .from(plans)
          .where(eq(plans.id, cleanText(id)));
        const [row] = await found;
        return row?.request ?? {};
      }),
    requestOnPlan: (id, change) =>
      database.query(async (orm) => {
        const merged = sql`coalesce(${plans.request}, '{}') || ${cleanJson(change)}::jsonb`;
        await orm
          .update(plans)
          .set({ request: merged })
          .where(eq(plans.id, cleanText(id)));
      }),
  };
}

function toRecord({ doc, session, turnId, createdAt, updatedAt }: typeof plans.$inferSelect): PlanRecord {
  return { plan: doc, session: asSessionKey(session), turnId, createdAt, updatedAt };
}
