/** `/profile` and `/model` show the profile and the model of a session; owners change them. */
import type { EventBus } from '../../protocol/bus.ts';
import { type BoundTo, changeSession, type Command, type CommandCall } from '../../protocol/command.ts';
import {
  type ErrorReader,
  GatewayError,
  readerOf,
  toGatewayError,
  wordError,
} from '../../protocol/errors.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { mayUseProfile, type Profile } from '../../protocol/agent/profile.ts';
import { namesLike } from '../../lib/text.ts';
import type { Models } from '../model/models.ts';
import { describeProfile } from './built-in.ts';
import type { Profiles } from './profiles.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';

/** Longest wait for the model servers to list their models, in milliseconds. */
const SERVERS_MS = 5_000;
/** The same while someone types a name and waits for suggestions. */
const SUGGEST_MS = 2_000;
/** Names of models shown by `/model`. */
const MODELS_SHOWN = 30;

export interface ProfileCommandDeps {
  profiles: Profiles;
  ledger: SessionStore;
  /** The binding of config.json for the author of a command, if any. */
  boundTo: BoundTo;
  events: EventBus;
  models: Models;
}

/** Creates the two commands. */
export function createProfileCommands(deps: ProfileCommandDeps): Command[] {
  return [
    {
      name: 'profile',
      description: 'about.profile',
      argument: {
        name: 'id',
        label: 'word.id',
        description: 'argument.profile',
        required: false,
        suggests: true,
      },
      run: (call) => (call.args === '' ? showProfiles(deps, call) : switchProfile(deps, call)),
      suggest: (call) => suggestProfiles(deps, call),
    },
    {
      name: 'model',
      description: 'about.model',
      argument: {
        name: 'name',
        label: 'word.name',
        description: 'argument.model',
        required: false,
        suggests: true,
      },
      run: (call) => (call.args === '' ? showModel(deps, call) : changeModel(deps, call)),
      suggest: (call) => suggestModels(deps, call),
    },
  ];
}

async function showProfiles(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  const { profileId, bound: binding } = await usedHere(deps, call);
  const current = known(deps, profileId)?.id ?? 'default';
  const errors = deps.profiles.errors();
  const { say } = call;
  const broken = say('profile.errors');
  // Details of the files are for owners, who write them.
  const details = call.owner ? errors.map((error) => `- ${say.text(error)}`) : [];
  return [
    say(binding === undefined ? 'profile.is' : 'profile.bound', { profile: `\`${current}\`` }),
    deps.profiles
      .list()
      .map((profile) => profileLine(profile, current, say))
      .join('\n'),
    ...(call.owner ? [say('profile.switch')] : []),
    ...(errors.length === 0 ? [] : [[broken, ...details].join('\n')]),
  ].join('\n\n');
}

/** The profiles that the caller may switch to. */
async function suggestProfiles(deps: ProfileCommandDeps, call: CommandCall): Promise<string[]> {
  const current = (await usedHere(deps, call)).profileId;
  const profiles = deps.profiles
    .list()
    .filter((profile) => mayUseProfile(profile, { owner: call.owner, current }));
  return namesLike(
    call.args,
    profiles.map(({ id }) => id),
  );
}

/** For owners, who may choose one. */
async function suggestModels(deps: ProfileCommandDeps, call: CommandCall): Promise<string[]> {
  if (!call.owner) return [];
  const names = await modelNames(deps, SUGGEST_MS);
  return namesLike(call.args, ['default', ...names]);
}

/** The profile that answers the author of the command: the one chosen for the session, else the bound one. */
async function usedHere(deps: ProfileCommandDeps, call: CommandCall) {
  const record = await deps.ledger.session(call.session);
  const binding = record?.profileChosen === true ? undefined : deps.boundTo(call);
  return { record, bound: binding, profileId: binding?.profile ?? record?.profileId };
}

function profileLine(profile: Profile, current: string, say: Say): string {
  const { id, model, enabledTools } = profile;
  const description = describeProfile(profile, say);
  const about = [
    ...(description === undefined ? [] : [description]),
    ...(model === undefined ? [] : [say('profile.model', { model })]),
    enabledTools.length === 0
      ? say('profile.no_tools')
      : say('profile.tools', { tools: enabledTools.join(', ') }),
  ];
  const key = id === current ? 'profile.line_now' : 'profile.line';
  return say(key, { profile: `\`${id}\``, about: about.join('; ') });
}

async function switchProfile(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  const profile = known(deps, call.args);
  if (profile === undefined) {
    const ids = deps.profiles.list().map(({ id }) => id);
    throw new GatewayError(
      'unknown_profile',
      textRef('profile.unknown', { name: call.args.slice(0, 80), profiles: ids.join(', ') }),
    );
  }
  const current = (await usedHere(deps, call)).profileId;
  if (!mayUseProfile(profile, { owner: call.owner, current })) throw ownersOnly();
  await deps.models.checkProfile(profile.id, AbortSignal.timeout(SERVERS_MS));
  await changeSession(deps.ledger, call, { profileId: profile.id });
  deps.events.emit(call.session, { type: 'profile_switched', profileId: profile.id });
  return call.say('profile.changed', { profile: `\`${profile.id}\`` });
}

async function showModel(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  const { say } = call;
  const { record, profileId, bound: binding } = await usedHere(deps, call);
  const model =
    record?.model ?? binding?.model ?? (await deps.models.describe(profileId, readerOf(call), say));
  const whose = record?.model === undefined ? '' : ` ${say('model.chosen')}`;
  const about = await deps.models.about(model, say);
  return [
    say('model.is', { model: `\`${model}\`${about}${whose}` }),
    ...(call.owner ? await allModels(deps, model, readerOf(call), say) : []),
  ].join('\n');
}

/** The models of all servers, with the current one first and marked. */
async function allModels(
  deps: ProfileCommandDeps,
  current: string,
  reader: ErrorReader,
  say: Say,
): Promise<string[]> {
  try {
    const models = await modelNames(deps, SERVERS_MS);
    const isCurrent = (name: string): boolean => name === current || name === `${current}:latest`;
    const sorted = [...models.filter(isCurrent), ...models.filter((name) => !isCurrent(name))];
    const lines = sorted.slice(0, MODELS_SHOWN).map((name) => `${isCurrent(name) ? '▶' : '·'} ${name}`);
    const more =
      models.length > MODELS_SHOWN ? [say('model.more', { more: models.length - MODELS_SHOWN })] : [];
    return [say('model.change'), ...lines, ...more];
  } catch (error) {
    return [wordError(toGatewayError(error), reader, say)];
  }
}

/** The names of the models of all servers. Throws `ProviderError`. */
async function modelNames(deps: ProfileCommandDeps, withinMs: number): Promise<string[]> {
  const names = await deps.models.list(AbortSignal.timeout(withinMs));
  const profiles = new Set(['default', ...deps.profiles.list().map(({ id }) => id)]);
  return names.filter((name) => !profiles.has(name));
}

async function changeModel(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  if (!call.owner) throw ownersOnly();
  if (call.args === 'default') {
    const record = await changeSession(deps.ledger, call, { model: null });
    const usual = await deps.models.describe(record.profileId, readerOf(call), call.say);
    return call.say('model.reset', { model: `\`${usual}\`` });
  }
  const { model } = await deps.models.resolve(call.args, AbortSignal.timeout(SERVERS_MS));
  if (model === undefined) {
    throw new GatewayError('unknown_model', textRef('model.is_profile', { name: call.args }));
  }
  await changeSession(deps.ledger, call, { model });
  return call.say('model.changed', { model: `\`${model}\`` });
}

function known(deps: ProfileCommandDeps, id: string | undefined): Profile | undefined {
  return deps.profiles.list().find((profile) => profile.id === id);
}

function ownersOnly(): GatewayError {
  return new GatewayError('forbidden', textRef('settings.owners_only'));
}
