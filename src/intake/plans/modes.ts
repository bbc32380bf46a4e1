/** Execution mode of a session: shown and changed by `/mode`, between two plans, never during one (S-40). */
import type { IntakeContext } from '../context.ts';
import { isPlanRunning } from './change-plan.ts';
import { changeSession, type Command } from '../../protocol/command.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Address, SessionKey } from '../../protocol/message.ts';
import { type ExecutionMode, MODES, readMode } from '../../protocol/agent/plan.ts';
import { planningIn, planningOf, toolsOf } from '../../protocol/agent/profile.ts';
import { type Say, textRef, type TextRef } from '../../protocol/texts/say.ts';

/** Where someone writes, and the profile that the message itself names. */
interface Asker {
  session: SessionKey;
  address: Address;
  userId: string;
  profileId?: string | undefined;
}

/** Throws `GatewayError('plan_running')` while a plan of the session runs. */
export async function refuseWhilePlanRuns(context: IntakeContext, session: SessionKey): Promise<void> {
  if (await isPlanRunning(context, session))
    throw new GatewayError('plan_running', textRef('mode.plan_running'));
}

/** `/mode`: shows or changes it. */
export function modeCommand(context: IntakeContext): Command {
  return {
    name: 'mode',
    description: 'about.mode',
    argument: {
      name: 'mode',
      label: 'word.mode',
      description: 'argument.mode',
      required: false,
      choices: ['planner', 'teacher', 'agentic'],
    },
    async run(call) {
      const { session, args, say } = call;
      if (args === '') {
        const { mode } = (await context.ledger.session(session)) ?? context.ledger.newSessions;
        return `${describe(mode, say)}\n\n${await describePlanning(context, call, say)}`;
      }
      const mode = readMode(args);
      await refuseWhilePlanRuns(context, session);
      await changeSession(context.ledger, call, { mode });
      context.events.emit(session, { type: 'mode_changed', mode });
      const { profile } = await answeringHere(context, call);
      if (mode !== 'planner' && profile !== undefined && planningOf(profile) === 'off')
        return say('mode.changed_unplanned', { mode, profile: profile.id });
      return say('mode.changed', { mode, meaning: say(`mode.${mode}`) });
    },
  };
}

function describe(mode: ExecutionMode, say: Say): string {
  const lines = MODES.map((one) =>
    say(one === mode ? 'mode.line_now' : 'mode.line', { mode: one, meaning: say(`mode.${one}`) }),
  );
  return [say('mode.is', { mode }), ...lines].join('\n');
}

/** When plans are made here, and what the model lacks for them. */
async function describePlanning(context: IntakeContext, place: Asker, say: Say): Promise<string> {
  const { record, profile, choice } = await answeringHere(context, place);
  if (profile === undefined) return '';
  const planning = planningIn(profile, (record ?? context.ledger.newSessions).mode);
  if (planning === 'off') return say('planning.none', { why: planningOff(profile.id) });
  const model = await context.agent.modelOf(record, choice);
  const noTools = toolsOf(profile).length === 0;
  const asks = planning === 'auto' && (noTools || model?.tools === false);
  return [
    say('planning.is', { profile: profile.id, planning, meaning: say(`planning.${planning}`) }),
    ...(noTools ? [say('planning.no_tools')] : []),
    ...(model?.tools === false ? [say('planning.model_without_tools', { model: model.model })] : []),
    ...(asks ? [say('planning.cannot_ask')] : []),
    ...(model === undefined ? [say('planning.model_unknown')] : []),
  ].join('\n');
}

/** Throws `GatewayError('planning_off')` with what to change, or `StoreError`. */
export async function checkPlanning(context: IntakeContext, asker: Asker): Promise<void> {
  const { profile } = await answeringHere(context, asker);
  if (profile !== undefined && planningOf(profile) === 'off')
    throw new GatewayError('planning_off', planningOff(profile.id));
}

function planningOff(profileId: string): TextRef {
  return textRef('planning.off', { profile: profileId });
}

/** The profile and model that answer: named by the message, chosen, bound, or the session's. Throws `StoreError`. */
async function answeringHere(
  { ledger, boundTo, profiles }: IntakeContext,
  { session, address, userId, profileId }: Asker,
) {
  const record = await ledger.session(session);
  const isSet = profileId !== undefined || record?.profileChosen === true;
  const binding = isSet ? undefined : boundTo({ address, userId });
  const id = profileId ?? binding?.profile ?? record?.profileId;
  const profileNamed = (name: string | undefined) => profiles().find((profile) => profile.id === name);
  const profile = profileNamed(id) ?? profileNamed('default');
  const model = record?.model ?? binding?.model;
  return { record, profile, choice: { profileId: profile?.id, model } };
}
