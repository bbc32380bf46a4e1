/** Public API of the intake module: receiving messages, commands and buttons, and the API for channels. */
import type { AccessPolicy } from '../protocol/access.ts';
import type { ApprovalStore, Approvals } from '../protocol/agent/approvals.ts';
import type { EventBus, MessageBus } from '../protocol/bus.ts';
import type { AskedQuestion } from '../protocol/delivery.ts';
import type { Command, Suggest } from '../protocol/command.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { Log } from '../protocol/log.ts';
import type { MemoryStore } from '../protocol/store/notes.ts';
import type { NoteRefusal } from '../protocol/store/traces.ts';
import type { PlanStore } from '../protocol/agent/plan-store.ts';
import type { GroupChatStore, NoteDeleted, QuestionStore } from '../protocol/store/group-chats.ts';
import type { NoteMembership } from '../protocol/message.ts';
import type { Receive } from '../protocol/receive.ts';
import type { TryStore } from '../protocol/store/records.ts';
import type { WaitingStore } from '../protocol/sessions/conversation-api.ts';
import type { Settings } from '../protocol/settings.ts';
import type { UsageStore } from '../protocol/agent/usage.ts';
import { createApprovalCommands, createDenyByReply } from './approvals/commands.ts';
import { createApprovals } from './approvals/approvals.ts';
import { type CommandDeps, createCommands } from './commands/commands.ts';
import { createMemoryCommands } from './commands/memory-commands.ts';
import type { ChangePlanDeps } from './plans/change-plan.ts';
import { createChangeByReply } from './plans/plan-reply.ts';
import { createPlanningCheck, type PlanningDeps } from './plans/planning-off.ts';
import { createNoteDeleted } from './questions/deleted-question.ts';
import { createNoteMembership, type MembershipDeps } from './groups/membership.ts';
import type { ModeDeps } from './plans/modes.ts';
import { createPlanButtons, createPlanCommands } from './plans/plan-control.ts';
import type { ChoiceDeps } from './choice.ts';
import type { NewSessionDeps } from './sessions/new-session.ts';
import { observeCommand } from './groups/observe-command.ts';
import { createAnswerButtons } from './questions/answer-buttons.ts';
import { createAskAgain } from './questions/edited-question.ts';
import { queueCommand } from './commands/queue-command.ts';
import type { IntakeLimits } from './limits/rate-limiter.ts';
import { rulesCommand } from './approvals/rules-command.ts';
import { createReceive } from './receive.ts';
import { createSuggest } from './commands/suggestions.ts';
import { type CheckTokenBudget, createTokenBudget } from './limits/token-budget.ts';
import { createTryCommands } from './sessions/try-commands.ts';
import { titleCommand } from './sessions/title-command.ts';
import { createLinkButtons, createSurfaceCommands } from './surfaces/commands.ts';
import type { LinkDeps } from './surfaces/links.ts';
import { trustCommand } from './commands/trust-command.ts';
import { languageCommand } from './languages/language-command.ts';
import type { PersonLanguages } from '../protocol/texts/languages.ts';

export { createGatewayApi } from './api/gateway-api.ts';
export { createLeader } from './leader.ts';
export { createFollowChatMigration } from './chat-migration.ts';
export { bindingErrors, bindingOf, bindingsRule, bindTurns, unknownBoundProfiles } from './bindings.ts';
export { limitsRule } from './limits/rate-limiter.ts';
export { createHooks } from './hooks/hooks.ts';
export { configureHooks, hooksRule } from './hooks/settings.ts';
export type { Hook } from './hooks/settings.ts';
export { createSendSystemMessage } from './system-messages.ts';
export { createPersonLanguages } from './languages/person-languages.ts';
export { groupAdminIn } from './surfaces/links.ts';
export { createAskedElsewhere } from './surfaces/asked-elsewhere.ts';
export { createFindChat } from './surfaces/find-chat.ts';
export { createDropSurface } from './surfaces/drop-surface.ts';
export { openThreadIn } from './sessions/new-command.ts';

export interface IntakeOptions
  extends
    Omit<ChoiceDeps, 'defaultModel' | 'profiles'>,
    Pick<ChangePlanDeps, 'classify'>,
    Pick<ModeDeps, 'modelOf'>,
    Pick<
      CommandDeps,
      | 'subagents'
      | 'profileErrors'
      | 'mcp'
      | 'settingsReport'
      | 'channelNotices'
      | 'webhooks'
      | 'defaultModel'
      | 'aboutModel'
      | 'boundTo'
      | 'openThread'
    >,
    Pick<LinkDeps, 'surfaces' | 'labelOf' | 'networks' | 'isGroupAdmin'>,
    Pick<MembershipDeps, 'dropSurface'> {
  accessPolicy: AccessPolicy;
  languages: PersonLanguages;
  bus: MessageBus;
  events: EventBus;
  ledger: Ledger;
  lanes: LaneStore;
  approvals: ApprovalStore;
  plans: PlanStore;
  memories: MemoryStore;
  tries: TryStore;
  usage: UsageStore;
  /** Their current `limits`. */
  settings: Settings<{ limits: IntakeLimits }>;
  groupChats: GroupChatStore;
  questions: QuestionStore;
  waiting: Pick<WaitingStore, 'dropWaiting'>;
  /** Marks a question as waiting. Never throws. */
  noteWaiting: (question: AskedQuestion) => void;
  profiles: () => readonly (ReturnType<NewSessionDeps['profiles']>[number] &
    ReturnType<PlanningDeps['profiles']>[number])[];
  /** Counts messages that did not become turns. */
  noteRefusal: NoteRefusal;
  /** Commands of other modules. */
  commands: readonly Command[];
  log: Log;
}

/** The intake as the composition root wires it. */
export interface Intake {
  receive: Receive;
  suggest: Suggest;
  membershipChanged: NoteMembership;
  messagesDeleted: NoteDeleted;
  approvals: Approvals;
  commands: readonly Command[];
  checkTokenBudget: CheckTokenBudget;
}

/** Makes the intake: `receive`, the approvals, and the complete list of commands. */
export function createIntake(options: IntakeOptions): Intake {
  const { bus, ledger, lanes, log, events, languages, accessPolicy, settings } = options;
  const tokensPerDay = () => settings.current().limits.tokensPerDay;
  const checkTokenBudget = createTokenBudget({ tokensPerDay, usage: options.usage, epochNow: Date.now });
  const approvals = createApprovals({ store: options.approvals, lanes, bus, log });
  const checkPlanning = createPlanningCheck(options);
  const planControl = { ...options, approvals, checkPlanning };
  const commands = commandsOf(options, planControl);
  const denyByReply = createDenyByReply(approvals, ledger, languages);
  const changePlan = createChangeByReply(planControl);
  const receive = createReceive({
    commands,
    approvals,
    lanes,
    questions: options.questions,
    noteWaiting: options.noteWaiting,
    buttons: [
      createAskAgain(options),
      createAnswerButtons(options),
      createPlanButtons(planControl),
      createLinkButtons(options),
    ],
    checkPlanning,
    changeByReply: async (message, session, owner) =>
      (await denyByReply(message, session, owner)) ?? (await changePlan(message, session)),
    accessPolicy,
    languages,
    groupChats: options.groupChats,
    noteRefusal: options.noteRefusal,
    ledger,
    bus,
    events,
    checkTokenBudget,
    profiles: options.profiles,
    defaultModel: (id) => options.defaultModel(id, 'person'),
    log,
    messageRate: () => settings.current().limits,
    monotonicNow: () => performance.now(),
  });
  const membershipChanged = createNoteMembership(options);
  const suggest = createSuggest({ commands, accessPolicy, ledger });
  const messagesDeleted = createNoteDeleted(options);
  return { receive, suggest, membershipChanged, messagesDeleted, approvals, commands, checkTokenBudget };
}

type PlanControl = Parameters<typeof createPlanCommands>[0] & Parameters<typeof createPlanButtons>[0];

/** The commands of the intake and of the other modules. */
function commandsOf(options: IntakeOptions, planControl: PlanControl): readonly Command[] {
  const { ledger, events, languages, tries } = options;
  const { approvals } = planControl;
  return createCommands(options, [
    ...options.commands,
    ...createMemoryCommands(options.memories),
    ...createApprovalCommands(approvals),
    rulesCommand(approvals),
    ...createPlanCommands(planControl),
    queueCommand({ ledger }),
    titleCommand({ ledger, events }),
    ...createTryCommands({ tries, events }),
    trustCommand({ ledger }),
    ...createSurfaceCommands(options),
    observeCommand(options),
    languageCommand(languages),
  ]);
}
