/** Public API of the intake module: receiving messages, commands and buttons, and the API for channels. */
import type { Command } from '../protocol/command.ts';
import { createAnswerCommands } from './surfaces/answers.ts';
import { createApprovalCommands } from './approvals/commands.ts';
import { rulesCommand } from './approvals/rules.ts';
import { createApprovals } from './approvals/approvals.ts';
import { createCommands, createSuggest } from './commands.ts';
import type { Intake, IntakeContext, IntakeOptions } from './context.ts';
import { createNoteDeleted } from './edits-and-reactions.ts';
import { observeCommand } from './group-talk.ts';
import { languageCommand } from './languages.ts';
import { createNoteMembership } from './membership.ts';
import { createMemoryCommands } from './memory-commands.ts';
import { createPlanCommands } from './plans/plan-control.ts';
import { createReceive } from './receive.ts';
import { openThreadIn, queueCommand, retryCommand, titleCommand, trustCommand } from './session-commands.ts';
import { createSurfaceCommands } from './surfaces/commands.ts';
import { createNoteContact } from './surfaces/find-chat.ts';
import { groupAdminIn } from './surfaces/links.ts';
import { ThreadTalk } from './thread-talk.ts';
import { finishUndos, undoCommand } from './undo/command.ts';

export { createSendSystemMessage } from './accept.ts';
export { createGatewayApi } from './api/gateway-api.ts';
export { bindingErrors, bindingOf, bindingsRule, bindTurns, checkBoundProfiles } from './bindings.ts';
export { configureHooks, type Hook, hooksRule } from './hook-settings.ts';
export { createHooks } from './hooks.ts';
export { createPersonLanguages } from './languages.ts';
export { createLeader } from './leader.ts';
export { limitsRule } from './limits.ts';
export { createFollowChatMigration } from './membership.ts';
export { createFindChat } from './surfaces/find-chat.ts';
export { createDropSurface, createMirrorQuestion } from './surfaces/tell.ts';
export { createUndoing } from './undo/undo.ts';

/** Makes the intake: `receive`, the approvals, and the complete list of commands. */
export function createIntake(options: IntakeOptions): Intake {
  const { accessPolicy, bus, channels, ledger, log, store } = options;
  const context: IntakeContext = {
    ...options,
    linking: { ...options.linking, isGroupAdmin: groupAdminIn(channels) },
    openThread: openThreadIn(channels, log),
    threads: new ThreadTalk(options),
    noteContact: createNoteContact(store.contacts, options.monotonicNow),
    approvals: createApprovals(store.approvals, store.lanes, bus, options.agent.checkArgs, log),
  };
  const commands = commandsOf(context);
  return {
    context,
    commands,
    receive: createReceive(context, commands),
    suggest: createSuggest(commands, accessPolicy, ledger),
    membershipChanged: createNoteMembership(context),
    messagesDeleted: createNoteDeleted(context),
    finishUndos: () => finishUndos(context),
  };
}

function commandsOf(context: IntakeContext): readonly Command[] {
  const { approvals, events, languages, ledger, store } = context;
  return createCommands(context, [
    ...context.commands,
    ...createMemoryCommands(store.memories),
    ...createApprovalCommands(approvals),
    ...createAnswerCommands(approvals, store.chatSettings),
    rulesCommand(approvals),
    ...createPlanCommands(context),
    queueCommand(ledger),
    titleCommand(ledger, events),
    retryCommand(store.tries),
    undoCommand(context),
    trustCommand(ledger),
    ...createSurfaceCommands(context),
    observeCommand(context),
    languageCommand(languages),
  ]);
}
