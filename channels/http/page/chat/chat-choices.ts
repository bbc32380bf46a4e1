/** What answers in a chat: the profile, the plan mode and the model, chosen for the chat itself, also before it has begun. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { WireChoices, WireSessionModel } from '../../wire.ts';
import { api, ApiError, type Beginning, type SessionSettings } from '../api.ts';
import { showError } from '../failures/show-error.ts';
import { NewestAnswer } from '../newest.ts';
import { say } from '../texts.ts';

/** What can be chosen in the open chat, and what is. */
interface ShownChoices {
  profile: string;
  profiles: WireChoices['profiles'];
  /** Undefined where the profile has no plans: the mode only says how they are run. */
  mode: string | undefined;
  /** Empty = the model of the profile. */
  model: string;
  models: { value: string; label: string }[];
  /** The model that answers the next message, as people name it. */
  answering: string;
  /** Why no model is available. */
  problem: string;
}

/** The name of a model in the list: of the default one, and of one that another model answers for. */
function modelLabel(
  model: string,
  { isDefault, answering }: { isDefault: boolean; answering: string },
): string {
  const name = isDefault ? say('page.model.default', { model }) : model;
  return answering === model ? name : say('page.model.replaced', { name, other: answering });
}

/** Recordings are transcribed. */
export const mayDictate = signal(false);
/** What can be chosen, with the profile that it is for. */
let listed: { profile: string; choices: WireChoices } | undefined;

/** What can be chosen in a chat with this profile; read again for another one, and after no model server answered. */
async function choicesFor(profile: string): Promise<WireChoices> {
  if (listed?.profile !== profile || listed.choices.model === null)
    listed = { profile, choices: await api.choices(profile) };
  return listed.choices;
}

/** The choices of one session. */
export class ChatChoices {
  readonly #key: string;
  /** Undefined until they are loaded. */
  readonly shown = signal<ShownChoices | undefined>(undefined);
  /** How full the context was at the last answer; undefined while that is not known. */
  readonly contextUse = signal<WireSessionModel['contextUse'] | undefined>(undefined);
  /** A turn runs: the mode cannot change. */
  readonly isRunning: ReadonlySignal<boolean>;
  readonly #newest = new NewestAnswer();
  /** What was chosen for a chat that has not begun; undefined once it has. */
  #beginning: Beginning | undefined;

  /** The session is loaded later; `fresh` = it has not begun. */
  constructor(key: string, fresh: boolean, isRunning: ReadonlySignal<boolean>) {
    this.#key = key;
    this.isRunning = isRunning;
    this.#beginning = fresh ? {} : undefined;
    if (fresh) void this.refresh();
  }

  /** What was chosen for the first message of the chat; undefined when nothing was, or it has begun. */
  get beginning(): Beginning | undefined {
    return Object.keys(this.#beginning ?? {}).length > 0 ? this.#beginning : undefined;
  }

  /** The chat has begun: from now on its own settings are shown. */
  begun(): void {
    this.#beginning = undefined;
  }

  /** Loads what can be chosen, and the session; for one that does not exist yet, what was chosen for it. */
  async refresh(): Promise<void> {
    const mayShow = this.#newest.begin();
    try {
      const session = this.#beginning === undefined ? await this.#session() : undefined;
      const { profileId = 'default', model = null } = session ?? this.#beginning ?? {};
      const [choices, sessionModel] = await Promise.all([
        choicesFor(profileId),
        session === undefined ? undefined : this.#model(),
      ]);
      if (!mayShow()) return;
      mayDictate.value = choices.transcription;
      this.contextUse.value = sessionModel?.contextUse;
      const mode = session?.mode ?? this.#beginning?.mode ?? choices.mode;
      this.shown.value = shownChoices(choices, { profile: profileId, mode, model, sessionModel });
    } catch (error) {
      showError(error);
    }
  }

  /** Asks again who answers if no model server did, and how full the context is. Never rejects. */
  async refreshModel(): Promise<void> {
    if (listed?.choices.model === null) return await this.refresh();
    // It only refreshes a figure: where that fails, the old one stays until the next turn.
    const model = await this.#model().catch(() => undefined);
    if (model !== undefined) this.contextUse.value = model.contextUse;
  }

  /** Changes the session, or what the chat begins with; `model` null = the model of the profile. */
  async change({
    model,
    ...change
  }: {
    profileId?: string;
    mode?: string;
    model?: string | null;
  }): Promise<void> {
    try {
      if (this.#beginning !== undefined) {
        const { model: before, ...rest } = { ...this.#beginning, ...change };
        const nextModel = model === undefined ? before : model;
        this.#beginning = { ...rest, ...(nextModel && { model: nextModel }) };
      } else await api.changeSession(this.#key, { ...change, ...(model !== undefined && { model }) });
    } catch (error) {
      showError(error);
    }
    await this.refresh();
  }

  async #session(): Promise<SessionSettings | undefined> {
    try {
      return await api.session(this.#key);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      this.#beginning = {};
      return undefined;
    }
  }

  /** Who answers in a chat; undefined while no model server does. */
  async #model(): Promise<WireSessionModel | undefined> {
    try {
      return await api.model(this.#key);
    } catch (error) {
      if (error instanceof ApiError && error.status >= 500) return undefined;
      throw error;
    }
  }
}

/** What is shown of the choices of a profile, with what was chosen and the model that answers in the session. */
function shownChoices(
  { profiles, model: profileModel, models, problem }: WireChoices,
  {
    profile,
    mode,
    model,
    sessionModel,
  }: { profile: string; mode: string; model: string | null; sessionModel: WireSessionModel | undefined },
): ShownChoices {
  const usual = sessionModel !== undefined && model === null ? sessionModel : profileModel;
  const answers = (name: string): string =>
    sessionModel?.configured === name ? sessionModel.answering : name;
  const isListed = profiles.some(({ id }) => id === profile);
  const names = new Set([
    ...models.filter((name) => name !== usual?.configured),
    ...(model === null ? [] : [model]),
  ]);
  const none = say('page.model.none');
  const usualLabel =
    usual === null ? none : modelLabel(usual.configured, { isDefault: true, answering: usual.answering });
  return {
    profile,
    profiles: isListed ? profiles : [...profiles, { id: profile, plans: true, description: null }],
    mode: profiles.find(({ id }) => id === profile)?.plans === false ? undefined : mode,
    model: model ?? '',
    models: [
      { value: '', label: usualLabel },
      ...[...names].map((name) => ({
        value: name,
        label: modelLabel(name, { isDefault: false, answering: answers(name) }),
      })),
    ],
    answering: model === null ? (usual?.answering ?? none) : answers(model),
    problem: problem ?? '',
  };
}
