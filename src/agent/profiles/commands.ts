/** `/profile` and `/model` show the profile and the model of a session; owners change them. */
import type { EventBus } from '../../contracts/bus.ts';
import { changeSession } from '../../contracts/command.ts';
import type { BoundTo, Command, CommandCall } from '../../contracts/command.ts';
import { GatewayError, readerOf, toGatewayError, wordError } from '../../contracts/errors.ts';
import type { ErrorReader } from '../../contracts/errors.ts';
import type { SessionStore } from '../../contracts/store/ledger.ts';
import { mayUseProfile } from '../../contracts/profile.ts';
import type { Profile } from '../../contracts/profile.ts';
import type { Models } from '../model/models.ts';
import type { Profiles } from './profiles.ts';

/** Longest wait for the model servers to list their models, in milliseconds. */
const SERVERS_MS = 5_000;
/** Names of models shown by `/model`. */
const MODELS_SHOWN = 30;

export interface ProfileCommandDeps {
  profiles: Pick<Profiles, 'list' | 'errors'>;
  ledger: Pick<SessionStore, 'session' | 'updateSession'>;
  /** The binding of config.json for whoever writes a command, if any. */
  boundTo: BoundTo;
  events: Pick<EventBus, 'emit'>;
  models: Pick<Models, 'list' | 'describe' | 'about' | 'resolve' | 'checkProfile'>;
}

/** Creates the two commands. */
export function createProfileCommands(deps: ProfileCommandDeps): Command[] {
  return [
    {
      name: 'profile',
      description: 'Which profile answers here; an owner switches it',
      argument: { name: 'id', description: 'The profile to switch to', required: false },
      run: (call) => (call.args === '' ? showProfiles(deps, call) : switchProfile(deps, call)),
    },
    {
      name: 'model',
      description: 'Which model answers here; an owner changes it',
      argument: { name: 'name', description: 'A model, or "default" for the usual one', required: false },
      run: (call) => (call.args === '' ? showModel(deps, call) : changeModel(deps, call)),
    },
  ];
}

async function showProfiles(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  const { profileId, bound } = await usedHere(deps, call);
  const current = known(deps, profileId)?.id ?? 'default';
  const errors = deps.profiles.errors();
  const broken = 'The files of some profiles have errors; their last valid content stays in use.';
  // Details of the files are for owners, who write them.
  const details = call.owner ? errors.map((error) => `- ${error}`) : [];
  return [
    `Profile: \`${current}\`${bound === undefined ? '' : ' (bound in config.json)'}`,
    deps.profiles
      .list()
      .map((profile) => profileLine(profile, current))
      .join('\n'),
    ...(call.owner ? ['Switch with /profile ID.'] : []),
    ...(errors.length === 0 ? [] : [[broken, ...details].join('\n')]),
  ].join('\n\n');
}

/** The profile that answers who writes the command: the one chosen for the session, else the bound one. */
async function usedHere(deps: ProfileCommandDeps, call: CommandCall) {
  const record = await deps.ledger.session(call.session);
  const bound = record?.profileChosen === true ? undefined : deps.boundTo(call);
  return { record, bound, profileId: bound?.profile ?? record?.profileId };
}

function profileLine(profile: Profile, current: string): string {
  const { id, description, model, enabledTools } = profile;
  const about = [
    ...(description === undefined ? [] : [description]),
    ...(model === undefined ? [] : [`model ${model}`]),
    enabledTools.length === 0 ? 'no tools' : `tools ${enabledTools.join(', ')}`,
  ];
  return `- \`${id}\`${id === current ? ' (this one)' : ''}: ${about.join('; ')}`;
}

async function switchProfile(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  const profile = known(deps, call.args);
  if (profile === undefined) {
    const ids = deps.profiles.list().map(({ id }) => id);
    throw new GatewayError(
      'unknown_profile',
      `There is no profile "${call.args.slice(0, 80)}". Profiles: ${ids.join(', ')}.`,
    );
  }
  const current = (await usedHere(deps, call)).profileId;
  if (!mayUseProfile(profile, { owner: call.owner, current })) throw ownersOnly();
  await deps.models.checkProfile(profile.id, AbortSignal.timeout(SERVERS_MS));
  await changeSession(deps.ledger, call, { profileId: profile.id });
  deps.events.emit(call.session, { type: 'profile_switched', profileId: profile.id });
  return `The profile is \`${profile.id}\` now, from the next message on.`;
}

async function showModel(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  const { record, profileId, bound } = await usedHere(deps, call);
  const model = record?.model ?? bound?.model ?? (await deps.models.describe(profileId, readerOf(call)));
  const whose =
    record?.model === undefined ? '' : ' (chosen for this conversation; /model default undoes it)';
  return [
    `Model: \`${model}\`${await deps.models.about(model)}${whose}`,
    ...(call.owner ? await allModels(deps, model, readerOf(call)) : []),
  ].join('\n');
}

/** The models of all servers, with the current one first and marked. */
async function allModels(deps: ProfileCommandDeps, current: string, reader: ErrorReader): Promise<string[]> {
  try {
    const names = await deps.models.list(AbortSignal.timeout(SERVERS_MS));
    const profiles = new Set(['default', ...deps.profiles.list().map(({ id }) => id)]);
    const models = names.filter((name) => !profiles.has(name));
    const isCurrent = (name: string): boolean => name === current || name === `${current}:latest`;
    const sorted = [...models.filter(isCurrent), ...models.filter((name) => !isCurrent(name))];
    const lines = sorted.slice(0, MODELS_SHOWN).map((name) => `${isCurrent(name) ? '▶' : '·'} ${name}`);
    const more = models.length > MODELS_SHOWN ? [`and ${models.length - MODELS_SHOWN} more`] : [];
    return ['Change it with /model NAME:', ...lines, ...more];
  } catch (error) {
    return [wordError(toGatewayError(error), reader)];
  }
}

async function changeModel(deps: ProfileCommandDeps, call: CommandCall): Promise<string> {
  if (!call.owner) throw ownersOnly();
  if (call.args === 'default') {
    const record = await changeSession(deps.ledger, call, { model: null });
    return `The model is the usual one again: \`${await deps.models.describe(record.profileId, readerOf(call))}\`.`;
  }
  const { model } = await deps.models.resolve(call.args, AbortSignal.timeout(SERVERS_MS));
  if (model === undefined) {
    throw new GatewayError(
      'unknown_model',
      `"${call.args}" is a profile: switch to it with /profile ${call.args}.`,
    );
  }
  await changeSession(deps.ledger, call, { model });
  return `The model is \`${model}\` now, from the next message on.`;
}

function known(deps: ProfileCommandDeps, id: string | undefined): Profile | undefined {
  return deps.profiles.list().find((profile) => profile.id === id);
}

function ownersOnly(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Only an owner may change this: the first person who was paired, a person in access.owners of config.json, or a token with the scope "admin".',
  );
}
