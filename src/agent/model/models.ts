/** Resolves which model and which profile a request means. */
import {
  type ErrorReader,
  GatewayError,
  ProviderError,
  toGatewayError,
  wordError,
} from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type {
  ChatProvider,
  ModelCapabilities,
  ModelReport,
  NamedModel,
  WhoAnswers,
} from '../../protocol/agent/provider.ts';
import {
  LARGER_WINDOW,
  type ModelOmissions,
  omissionText,
  SMALL_WINDOW,
  smallWindowText,
} from '../../protocol/agent/omissions.ts';
import type { ChoiceStore } from '../../protocol/store/records.ts';
import { inEnglish, type Say, textRef } from '../../protocol/texts/say.ts';
import { FallbackModels } from './fallback-models.ts';

/** Names of models that are looked up for one report. */
const MAX_NAMED = 50;

/** Name of the choice in the store. */
const CHOICE = 'model';

/** Models that are checked, in the server's order, for one that answers chats. */
export const MAX_LOOKED_AT = 20;

/** Time that the server's list of models is cached, in milliseconds (B-26). */
const LIST_CACHE_MS = 5 * 60_000;

/** Longest wait of `/status` for the model server to name its models, in milliseconds. */
const DESCRIBE_MS = 2_000;

/** Names longer than this are cut in messages, in UTF-16 units. */
const MAX_NAME_SHOWN = 100;

export interface ModelsDeps {
  provider: ChatProvider;
  /** The profiles as they are now; one is called `default`. */
  profiles: () => readonly Profile[];
  /** `MODEL`; unset = the first model of the server that answers chats, which is then kept. */
  model?: string | undefined;
  /** Models that settings name besides `MODEL` and the profiles. */
  named?: () => readonly NamedModel[];
  choices: ChoiceStore;
  log: Log;
  /** With several servers: a model name that selects the default one. */
  usualServer?: string | undefined;
}

export interface Models {
  /** Who answers for models that cannot. */
  readonly fallbacks: FallbackModels;
  /**
   * The profile with that id, else the one called `default`. Throws `GatewayError('unknown_profile')` when there is
   * neither.
   */
  profile(id: string | undefined): Profile;
  /** The model to use when nothing names one: `MODEL`, else the one that was chosen. Throws `ProviderError`, `StoreError`. */
  fallback(signal: AbortSignal): Promise<string>;
  /** The model of a session that has this profile and names no model, or why there is none. Never throws. */
  describe(profileId: string | undefined, reader: ErrorReader, say?: Say): Promise<string>;
  /**
   * What is special about the answers of a model now, as ` (…)` after its name: another one answers instead, it cannot
   * call tools, or its window is small; '' when nothing is. Never throws.
   */
  about(model: string, say: Say): Promise<string>;
  /**
   * Who answers for a model now, and whether that one can call tools; undefined while that is unknown. Never throws.
   */
  whoAnswers(model: string): Promise<WhoAnswers>;
  /** What the servers of models are not sent now because they refuse it. Never throws. */
  omissions(): readonly ModelOmissions[];
  /** The model of a session that has this profile and names no model, and what named it. Throws `ProviderError`, `StoreError`. */
  usual(profileId: string | undefined): Promise<{ model: string; from: 'profile' | 'gateway' }>;
  /**
   * What people should know about all models. Throws `GatewayError` when no server answers, or none of its models
   * could.
   */
  report(signal: AbortSignal): Promise<ModelReport>;
  /** `default`, the profile ids, then the server's models. Throws `ProviderError`. */
  list(signal: AbortSignal): Promise<string[]>;
  /**
   * Resolves the `model` of a request for an answer, or for vectors. Throws `GatewayError('unknown_model')`, also for a
   * model that answers no chats, or `ProviderError` when the server is unreachable.
   */
  resolve(
    name: string,
    signal: AbortSignal,
    use?: 'answer' | 'vectors',
  ): Promise<{ profileId?: string; model?: string }>;
  /**
   * Checks a profile before a session switches to it: throws a `GatewayError` when its model cannot answer for a permanent
   * reason (no such model, no such server, a missing key). An unreachable server is not a permanent reason.
   */
  checkProfile(id: string, signal: AbortSignal): Promise<void>;
}

/** The name as the server lists it: people may omit the tag `latest`, as Ollama's own tools do. */
function listedName(names: readonly string[], name: string): string | undefined {
  return [name, `${name}:latest`].find((spelled) => names.includes(spelled));
}

/** A list of names that is cached for a while unless it is empty. */
function cachedList(ask: (signal: AbortSignal) => Promise<readonly string[]>, monotonicNow: () => number) {
  let cache: { names: readonly string[]; at: number } | undefined;
  const fresh = async (signal: AbortSignal): Promise<readonly string[]> => {
    const names = await ask(signal);
    cache = { names, at: monotonicNow() };
    return names;
  };
  return {
    fresh,
    names: async (signal: AbortSignal): Promise<readonly string[]> =>
      cache !== undefined && cache.names.length > 0 && monotonicNow() - cache.at < LIST_CACHE_MS
        ? cache.names
        : await fresh(signal),
  };
}

/** `monotonicNow` is a clock in milliseconds. */
export function createModels(deps: ModelsDeps, monotonicNow: () => number = () => performance.now()): Models {
  const { provider, usualServer } = deps;
  const listOf = (server?: string) => cachedList((signal) => provider.models(signal, server), monotonicNow);
  const all = listOf();
  const defaultServer = usualServer === undefined ? all : listOf(usualServer);
  const fallbacks = new FallbackModels(monotonicNow);
  const chosenModel = createChosenModel(deps, defaultServer.names);
  /** A name that is not in the cached list is looked up at its server, which may have fetched the model just now. */
  const findModel = async (name: string, signal: AbortSignal): Promise<string | undefined> =>
    listedName(await all.names(signal), name) ?? listedName(await provider.models(signal, name), name);
  const find = (id: string): Profile | undefined => deps.profiles().find((profile) => profile.id === id);
  const profile = (id: string | undefined): Profile =>
    (id === undefined ? undefined : find(id)) ?? find('default') ?? noDefaultProfile();
  const fallback = async (signal: AbortSignal): Promise<string> => deps.model ?? (await chosenModel(signal));
  const usual: Models['usual'] = async (profileId) => {
    const { model } = profile(profileId);
    if (model !== undefined) return { model, from: 'profile' };
    return { model: await fallback(AbortSignal.timeout(DESCRIBE_MS)), from: 'gateway' };
  };
  return {
    fallbacks,
    profile,
    fallback,
    whoAnswers: (model) => whoAnswersFor(provider, model, fallbacks.insteadOf(model)),
    omissions: () => provider.omissions?.() ?? [],
    usual,
    about: (model, say) => aboutModel(provider, fallbacks.insteadOf(model), model, say),
    async report(signal) {
      await all.fresh(signal);
      const usual = await fallback(signal);
      return await reportModels(provider, { usual, named: namedIn(deps) }, signal);
    },
    async describe(profileId, reader, say = inEnglish) {
      try {
        return (await usual(profileId)).model;
      } catch (error) {
        return say('model.none', { why: wordError(toGatewayError(error), reader, say) });
      }
    },
    async list(signal) {
      const ids = deps.profiles().map((profile) => profile.id);
      return [...new Set(['default', ...ids, ...(await all.fresh(signal))])];
    },
    async resolve(name, signal, use = 'answer') {
      if (name === 'default') return {};
      if (find(name) !== undefined) return { profileId: name };
      if (name === deps.model) return { model: name };
      const model = await findModel(name, signal);
      if (model === undefined) throw unknownModel(name);
      if (use === 'answer') await refuseVectorsOnly(provider, model, signal);
      return { model };
    },
    async checkProfile(id, signal) {
      const model = find(id)?.model;
      if (model === undefined || model === deps.model) return;
      await checkModelOf(id, model, () => findModel(model, signal), signal);
    },
  };
}

function unknownModel(name: string): GatewayError {
  return new GatewayError('unknown_model', textRef('model.unknown', { name: name.slice(0, MAX_NAME_SHOWN) }));
}

/** What its server says about a model, or why it says nothing: that is reported when the model is asked. */
async function describeModel(
  provider: ChatProvider,
  model: string,
  signal = AbortSignal.timeout(DESCRIBE_MS),
): Promise<ModelCapabilities | GatewayError> {
  try {
    return await provider.capabilities(model, signal);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error;
  }
}

/** Throws `GatewayError('unknown_model')` for a model of which the server says that it answers no chats. */
async function refuseVectorsOnly(provider: ChatProvider, model: string, signal: AbortSignal): Promise<void> {
  const can = await describeModel(provider, model, signal);
  if (can instanceof GatewayError && !(can instanceof ProviderError)) throw can;
  if (can instanceof GatewayError || can.chat !== false) return;
  const name = model.slice(0, MAX_NAME_SHOWN);
  throw new GatewayError('unknown_model', textRef('model.vectors_only', { name }));
}

/** The models that the environment, `config.json` and the profiles name. */
function namedIn({ model, named: namedModels, profiles }: ModelsDeps): NamedModel[] {
  const environment = model === undefined ? [] : [{ place: 'MODEL', model }];
  return [...environment, ...(namedModels?.() ?? []), ...namedByProfiles(profiles())];
}

type Instead = ReturnType<FallbackModels['insteadOf']>;

/** `failed` says who answers in place of the model. Never throws. */
async function whoAnswersFor(
  provider: ChatProvider,
  model: string,
  substitute: Instead,
): Promise<WhoAnswers> {
  const answering = substitute?.instead ?? model;
  const who = { answering, reason: substitute && inEnglish(substitute.reasonKey) };
  const can = await describeModel(provider, answering);
  if (can instanceof GatewayError) return { ...who, tools: undefined, omissions: [] };
  return { ...who, tools: can.tools, omissions: can.omissions ?? [] };
}

async function aboutModel(
  provider: ChatProvider,
  substitute: Instead,
  model: string,
  say: Say,
): Promise<string> {
  const { answering, tools, omissions } = await whoAnswersFor(provider, model, substitute);
  const notes =
    substitute === undefined
      ? []
      : [say('model.answers_instead', { model: answering, why: say(substitute.reasonKey) })];
  const can = await describeModel(provider, answering);
  const window = can instanceof GatewayError ? undefined : can.contextWindow;
  if (tools === false) notes.push(say('model.chat_only', { model: answering }));
  else if (window !== undefined && window < SMALL_WINDOW)
    notes.push(say('model.small_window', { tokens: window }));
  if (omissions.length > 0) {
    const parts = omissions.map((part) => say.text(omissionText(part))).join(', ');
    notes.push(say('model.omissions', { parts }));
  }
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

function noDefaultProfile(): never {
  const text = 'There is no profile "default": see profiles/ in GATEWAY_HOME.';
  throw new GatewayError('unknown_profile', text);
}

/** Throws a `GatewayError` when the model of the profile cannot answer, for a reason that will not pass. */
async function checkModelOf(
  profile: string,
  model: string,
  find: () => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<void> {
  try {
    if ((await find()) !== undefined) return;
  } catch (error) {
    if (signal.aborted || !(error instanceof GatewayError) || error.retryable) return;
    const message = textRef('profile.cannot_answer', { profile, why: error.textRef ?? error.message });
    if (error instanceof ProviderError) throw new ProviderError(error.code, message, { cause: error });
    throw new GatewayError(error.code, message, { cause: error });
  }
  const name = model.slice(0, MAX_NAME_SHOWN);
  throw new GatewayError('unknown_model', textRef('profile.no_such_model', { profile, name }));
}

/**
 * Makes the function that returns the model, of those that `namesNow` returns from a cache. It throws `ProviderError`, and `StoreError` before the first choice is
 * known.
 */
function createChosenModel(
  { provider, choices, log }: ModelsDeps,
  namesNow: (signal: AbortSignal) => Promise<readonly string[]>,
): (signal: AbortSignal) => Promise<string> {
  let name: string | undefined;
  return async (signal) => {
    const names = await namesNow(signal);
    if (name !== undefined && names.includes(name)) return name;
    const choice = await choices.chosen(CHOICE);
    if (choice !== undefined && names.includes(choice)) return (name = choice);
    const model = await firstForChats(provider, names, signal);
    name = await choices.choose(CHOICE, model, choice);
    if (!names.includes(name)) name = model;
    log.info({ model: name, ...(choice !== undefined && { insteadOf: choice }) }, 'model_chosen');
    return name;
  };
}

/** The first that answers chats; one that the server says nothing about may. */
async function firstForChats(
  provider: ChatProvider,
  names: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  for (const name of names.slice(0, MAX_LOOKED_AT)) {
    try {
      const { chat } = await provider.capabilities(name, signal);
      if (chat !== false) return name;
    } catch (error) {
      // One model that cannot be described does not keep the others from answering.
      if (signal.aborted || !(error instanceof GatewayError)) throw error;
    }
  }
  throw new ProviderError(
    'unknown_model',
    names.length === 0 ? textRef('provider.no_models') : textRef('provider.no_chat_models'),
  );
}

/** Every model that a profile names, with the field that does. */
function namedByProfiles(profiles: readonly Profile[]): NamedModel[] {
  return profiles.flatMap(({ id, model, fallbacks }) => [
    ...(model === undefined ? [] : [{ place: `profiles/${id}/config.json: model`, model }]),
    ...fallbacks.map((name, at) => ({ place: `profiles/${id}/config.json: fallbacks.${at}`, model: name })),
  ]);
}

/**
 * The report: `usual` answers if nothing names another, `namedModels` are looked up at their servers, each once. A server
 * that does not answer is not a problem with the name. Throws only what aborting `signal` throws.
 */
async function reportModels(
  provider: ChatProvider,
  { usual, named: namedModels }: { usual: string; named: readonly NamedModel[] },
  signal: AbortSignal,
): Promise<ModelReport> {
  const places = new Map<string, string>();
  for (const { place, model } of namedModels) if (!places.has(model)) places.set(model, place);
  const entries = [...places].slice(0, MAX_NAMED);
  const problems = await Promise.all(
    entries.map(async ([model, place]) => {
      const missing = await missingOf(provider, model, signal);
      return missing === undefined ? [] : [`${place}: ${missing}`];
    }),
  );
  return {
    model: usual,
    missing: problems.flat(),
    smallWindow: await smallWindowOf(provider, usual, signal),
  };
}

async function smallWindowOf(
  provider: ChatProvider,
  model: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const can = await describeModel(provider, model, signal);
  const text = can instanceof GatewayError ? undefined : smallWindowText(model, can.contextWindow);
  return text && `${text} To change that, ${LARGER_WINDOW}.`;
}

/** What to do about a model that its server does not have, or that answers no chats; undefined for one that it has, or may have. */
async function missingOf(
  provider: ChatProvider,
  model: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const can = await describeModel(provider, model, signal);
  if (can instanceof GatewayError) return can.code === 'unknown_model' ? can.message : undefined;
  return can.chat === false ? `the model "${model}" cannot chat: name another one.` : undefined;
}
