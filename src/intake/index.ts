/** The intake room's door: how messages come in and what a channel may ask. */
export { createApprovalCommands } from './approval-commands.ts';
export { createApprovals } from './approvals.ts';
export { createSendSystemMessage } from './system-messages.ts';
export { createCommands, listingOf } from './commands.ts';
export { createGatewayApi } from './gateway-api.ts';
export { createLeader } from './leader.ts';
export type { Leader } from './leader.ts';
export { createFollowChatMigration } from './moves.ts';
export { queueCommand } from './queue-command.ts';
export { createMemoryCommands } from './memory-commands.ts';
export { createPlanButtons, createPlanCommands } from './plan-control.ts';
export { createReceive } from './receive.ts';
