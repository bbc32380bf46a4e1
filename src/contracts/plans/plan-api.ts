/** What HTTP callers do with plans. */
import type { Caller } from '../access.ts';
import type { SessionKey } from '../message.ts';
import type { ExecutionMode, Plan, StepEdit } from './plan.ts';
import type { Say } from '../texts/say.ts';
import type { Receipt } from '../receive.ts';
import type { NumberedPlan, PlanRecord } from '../store/plan-store.ts';

/** The plans of sessions that the caller may see; undefined for any other. Methods throw only `GatewayError`. */
export interface PlanApi {
  /** The plans of a session that are not runs of others, newest first. */
  list(caller: Caller, key: SessionKey): Promise<NumberedPlan[] | undefined>;
  read(caller: Caller, planId: string): Promise<PlanRecord | undefined>;
  /** Throws `GatewayError`: `plan_changed` if the plan's version differs, `plan_unchanged` for an impossible change. */
  change(
    caller: Caller,
    planId: string,
    version: number,
    edits: readonly StepEdit[],
  ): Promise<Plan | undefined>;
  /** Drops a plan that is only stored. Throws as `change` does. */
  cancel(caller: Caller, planId: string): Promise<Plan | undefined>;
  /**
   * Starts a run of the plan with a message that has this id. Throws `GatewayError`: `already_running`, `plan_changed`,
   * `plan_unchanged`, `not_an_http_session`.
   */
  run(
    caller: Caller,
    planId: string,
    asked: {
      messageId: string;
      mode?: ExecutionMode | undefined;
      version?: number | undefined;
      /** Words its message in the language of the person starting it. */
      say?: Say | undefined;
      /** The languages that they read, from the header `Accept-Language`. */
      language?: string | undefined;
    },
  ): Promise<{ receipt: Receipt; session: SessionKey } | undefined>;
}
