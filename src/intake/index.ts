/** Public API of the intake module: receiving messages, commands and buttons, and the API for channels. */
import type { AccessPolicy } from '../contracts/access.ts';
import type { ApprovalStore, Approvals } from '../contracts/approvals.ts';
import type { EventBus, MessageBus } from '../contracts/bus.ts';
import type { Command } from '../contracts/command.ts';
import type { LaneStore } from '../contracts/lanes.ts';
import type { Ledger } from '../contracts/ledger.ts';
import type { Log } from '../contracts/log.ts';
import type { MemoryStore } from '../contracts/notes.ts';
import type { PlanStore } from '../contracts/plan-store.ts';
import type { Receive } from '../contracts/receive.ts';
import { createApprovalCommands } from './approval-commands.ts';
import { createApprovals } from './approvals.ts';
import { createCommands } from './commands.ts';
import type { CommandDeps } from './commands.ts';
import { createMemoryCommands } from './memory-commands.ts';
import { createPlanButtons, createPlanCommands } from './plan-control.ts';
import { queueCommand } from './queue-command.ts';
import { createReceive } from './receive.ts';

export { listingOf } from './commands.ts';
export { createGatewayApi } from './gateway-api.ts';
export { createLeader } from './leader.ts';
export { createFollowChatMigration } from './chat-migration.ts';
export { createSendSystemMessage } from './system-messages.ts';

export interface IntakeOptions extends Pick<CommandDeps, 'subagents' | 'defaultModel' | 'profileErrors'> {
  accessPolicy: AccessPolicy;
  bus: MessageBus;
  events: EventBus;
  ledger: Ledger;
  lanes: LaneStore;
  approvals: ApprovalStore;
  plans: PlanStore;
  memories: MemoryStore;
  /** Commands of other modules. */
  commands: readonly Command[];
  log: Log;
}

/** The intake as the composition root wires it. */
export interface Intake {
  receive: Receive;
  approvals: Approvals;
  commands: readonly Command[];
}

/** Makes the intake: `receive`, the approvals, and the complete list of commands. */
export function createIntake(options: IntakeOptions): Intake {
  const { bus, ledger, lanes, log, plans, events } = options;
  const approvals = createApprovals({ store: options.approvals, lanes, bus, log });
  const planControl = { plans, approvals, ledger, lanes, bus };
  const commands = createCommands({ ...options, epochNow: Date.now }, [
    ...options.commands,
    ...createMemoryCommands(options.memories),
    ...createApprovalCommands(approvals),
    ...createPlanCommands({ ...planControl, events }),
    queueCommand({ ledger }),
  ]);
  const receive = createReceive({
    commands,
    approvals,
    buttons: [createPlanButtons(planControl)],
    accessPolicy: options.accessPolicy,
    ledger,
    bus,
    events,
    log,
    monotonicNow: () => performance.now(),
  });
  return { receive, approvals, commands };
}
