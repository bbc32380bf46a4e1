/** The gateway as channels see it: one object, every session method behind an owner check. */
import { missingScope } from '../../contracts/command.ts';
import type { EventBus } from '../../contracts/bus.ts';
import type { GatewayApi } from '../../contracts/gateway-api.ts';
import type { ChoiceDeps } from '../choice.ts';
import { listingInAll, listingOf } from '../commands/commands.ts';
import { createFileApi } from './file-api.ts';
import { createMemoryApi } from './memory-api.ts';
import { createScheduleApi } from './schedule-api.ts';
import { createPlanApi } from '../plans/plan-api.ts';
import { createSurfaceApi } from '../surfaces/surface-api.ts';
import { createConversationApi } from '../sessions/conversation-api.ts';
import type { GatewayApiDeps } from './deps.ts';
import { createModelApi } from './model-api.ts';
import { createSessionApi } from './session-api.ts';
import { createTurnApi } from './turn-api.ts';
import { createUsageApi } from './usage-api.ts';
import { ownedSessions } from '../sessions/ownership.ts';

/** Makes the API. Methods throw only `GatewayError`. */
export function createGatewayApi(deps: GatewayApiDeps): GatewayApi {
  const owned = ownedSessions(deps.ledger);
  const { visible } = owned;
  const choice: ChoiceDeps = {
    profiles: deps.profiles,
    defaultModel: (id) => deps.models.describe(id, 'person'),
  };
  return {
    ...createSessionApi(deps, visible, choice),
    ...createTurnApi(deps, visible),
    ...createModelApi(deps, visible, choice),
    receive: deps.receive,
    suggest: deps.suggest,
    hooks: deps.hooks,
    webhook: (channel) => deps.platform(channel)?.webhook,
    interactions: (channel) => deps.platform(channel)?.interactions,
    chatMoved: deps.chatMoved,
    membershipChanged: deps.membershipChanged,
    messagesDeleted: deps.messagesDeleted,
    signIns: deps.signIns,
    responses: deps.responses,
    commands: listingInAll(deps.commands),
    commandsFor: (caller, say) =>
      listingOf(
        deps.commands.filter((command) => missingScope(caller, command) === undefined),
        say,
      ),
    ...accessOf(deps.accessPolicy),
    turnConcurrency: deps.turnConcurrency,
    conversations: createConversationApi(deps, visible),
    files: createFileApi({
      ...owned,
      files: deps.files,
      limits: deps.fileLimits,
      personLimit: deps.filesPerPerson,
      kept: deps.keptFiles,
      typeOf: deps.fileTypeOf,
    }),
    audio: deps.audio,
    memories: createMemoryApi(deps.memories),
    plans: createPlanApi(deps, visible),
    surfaces: createSurfaceApi(deps, owned),
    schedules: createScheduleApi(deps.schedules, visible),
    noteRefusal: deps.noteRefusal,
    noteRequest: deps.noteRequest,
    ...eventsOf(deps.events),
    usage: createUsageApi(deps),
    health: deps.health,
    metrics: deps.metrics,
    settings: deps.settings,
    administration: deps.administration,
  };
}

function accessOf(
  accessPolicy: GatewayApiDeps['accessPolicy'],
): Pick<GatewayApi, 'groups' | 'mayWrite' | 'authenticate' | 'recheck'> {
  return {
    groups: (channel) => accessPolicy.groups(channel),
    mayWrite: async (message) => (await accessPolicy.mayWrite(message)) !== undefined,
    authenticate: (authorization) => accessPolicy.authenticate(authorization),
    recheck: (authorizations) => accessPolicy.recheck(authorizations),
  };
}

function eventsOf(events: EventBus): Pick<GatewayApi, 'subscribe' | 'replay' | 'lastEventId'> {
  return {
    subscribe: (filter, listener) => events.subscribe(filter, listener),
    replay: (key, lastEventId) => events.replay(key, lastEventId),
    lastEventId: (key) => events.lastEventId(key),
  };
}
