/** `/undo` and its buttons: what would go back is shown first; and undos that a crash interrupted. */
import { deliver } from '../replies.ts';
import type { IntakeContext } from '../context.ts';
import { showCard } from '../plans/change-plan.ts';
import { sayTo } from '../surfaces/tell.ts';
import type { Command, CommandCall, CommandQuestion } from '../../protocol/command.ts';
import { GatewayError, toGatewayError, wordError } from '../../protocol/errors.ts';
import { type Address, type Button, parseAddress, type SessionKey } from '../../protocol/message.ts';
import type { PressHandler } from '../../protocol/receive.ts';
import type { Undo, UndoPreview } from '../../protocol/sessions/undo.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';
import { describeUndo, hasEffects, shortQuestion } from './describe-undo.ts';

/** Digits of a turn's id that name it in a command. */
const ID_CHARS = 8;
/** Undos that are finished after a crash at a time. */
const UNFINISHED_PAGE = 100;

/** Makes the command. It throws `GatewayError('not_changed')` with the reason, and `StoreError`. */
export function undoCommand(context: IntakeContext): Command {
  return {
    name: 'undo',
    description: 'about.undo',
    argument: { name: 'id', label: 'word.id', description: 'argument.undo', required: false },
    async ask({ say, ...call }) {
      if (call.args !== '') return undefined;
      const preview = await context.undoing.preview(call.session);
      refuseForeign(preview, call);
      return preview.state === 'done' && hasEffects(preview) ? questionOf(preview, say) : undefined;
    },
    async run(call) {
      const { session, args, say } = call;
      const preview = await context.undoing.preview(session, args === '' ? undefined : args);
      refuseForeign(preview, call);
      return describeDone(await undo(context, session, preview.turnId), say);
    },
  };
}

/** Makes the handler of the buttons. A repeated press undoes nothing more. */
export function createUndoButtons(context: IntakeContext): PressHandler {
  return async ({ value, address, place, userId, owner, say }) => {
    const [, answer, turnId] = /^undo:(yes|no):([\w-]{1,64})$/.exec(value) ?? [];
    if (turnId === undefined) return undefined;
    const session = await context.ledger.sessionOf(address);
    try {
      const preview = await context.undoing.preview(session, turnId);
      refuseForeign(preview, { place, userId, owner });
      if (answer === 'no') return { reply: say(preview.state === 'done' ? 'undo.kept' : 'undo.twice') };
      const isRepeat = preview.state === 'undone';
      const undone = await undo(context, session, turnId);
      await tellDone(context, address, undone, say);
      return { reply: say(isRepeat ? 'undo.twice' : 'undo.pressed') };
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'not_changed') throw error;
      return { reply: wordError(error, 'person', say) };
    }
  };
}

/** Undoes it, with the cards of its plans, for everyone who watches. Throws like `Undoing`. */
export async function undo(context: IntakeContext, session: SessionKey, turnId: string): Promise<Undo> {
  const undone = await context.undoing.undo(session, turnId);
  await showPlans(context, undone);
  context.events.emit(session, { type: 'context_changed' });
  return undone;
}

async function showPlans(context: IntakeContext, { goesBack }: Undo): Promise<void> {
  for (const { kind, target } of goesBack) {
    const record = kind === 'plan' ? await context.store.plans.plan(target) : undefined;
    if (record !== undefined) await showCard(context, record);
  }
}

/**
 * Finishes all undos that a crash interrupted, and tells their chats. One that cannot be finished now is finished before the
 * session's next turn. Throws only `StoreError`.
 */
export async function finishUndos(context: IntakeContext): Promise<void> {
  for (const { session, turnId } of await context.store.undo.unfinished(UNFINISHED_PAGE)) {
    const turn = await context.store.undo.undoable(session, turnId);
    const undone = await undo(context, session, turnId).catch(toGatewayError);
    if (undone instanceof GatewayError) {
      context.log.warn({ err: undone, sessionKey: session, turnId }, 'undo_not_finished');
      continue;
    }
    context.log.info({ sessionKey: session, turnId }, 'undo_finished');
    if (typeof turn === 'string') continue;
    const { address, askedBy: userId = address } = turn;
    await tellDone(context, address, undone, await sayTo(context, { address, userId, place: 'private' }));
  }
}

/** In a group, only the person who asked and owners undo an answer. */
function refuseForeign(
  { askedBy }: UndoPreview,
  { place, userId, owner }: Pick<CommandCall, 'place' | 'userId' | 'owner'>,
): void {
  if (owner || place === 'private' || askedBy === userId) return;
  throw new GatewayError('not_changed', textRef('undo.foreign'));
}

/** What would go back. Where a reply has no buttons, the command with the id stands for them. */
function questionOf(preview: UndoPreview, say: Say): CommandQuestion {
  const { turnId } = preview;
  const lines = [say('undo.ask', { question: shortQuestion(preview) }), ...describeUndo(preview, say, false)];
  const text = [...lines, say('undo.confirm', { id: turnId.slice(-ID_CHARS) })].join('\n');
  const yes: Button = { label: say('undo.button'), value: `undo:yes:${turnId}`, style: 'danger' };
  return { text, buttons: [yes, { label: say('undo.keep'), value: `undo:no:${turnId}` }] };
}

function describeDone(undone: Undo, say: Say): string {
  return [say('undo.done', { question: shortQuestion(undone) }), ...describeUndo(undone, say, true)].join(
    '\n',
  );
}

/** Once for each undo, whoever finishes it; the page shows it by itself. */
async function tellDone(context: IntakeContext, address: Address, undone: Undo, say: Say): Promise<void> {
  const place = parseAddress(address);
  if (place.channel === 'http') return;
  const message = { ...place, content: describeDone(undone, say), media: [], buttons: [] };
  await deliver(context, address, { ref: `undone:${undone.turnId}`, message });
}
