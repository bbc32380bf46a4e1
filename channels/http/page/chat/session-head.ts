/**
 * The head of a chat: the profile, the plan mode and the model, chosen for the chat itself, also before it has begun.
 */
import type { ExecutionMode } from '../../../../src/protocol/agent/plan.ts';
import type { WireChoices as Choices, WireSessionModel as SessionModel } from '../../wire.ts';
import { type Api, ApiError, type Beginning } from '../api.ts';
import { byId } from '../dom.ts';
import { NewestAnswer } from '../newest.ts';
import { say } from '../texts.ts';

/** The modes in the order of the list, each with its explanation. */
const MODES: [ExecutionMode, string][] = [
  ['planner', say('page.mode.planner')],
  ['teacher', say('page.mode.teacher')],
  ['agentic', say('page.mode.agentic')],
];

/** The name of a model in the list: of the default one, and of one that another model answers for. */
function modelLabel(
  model: string,
  { isDefault, answering: other }: { isDefault: boolean; answering: string },
) {
  const name = isDefault ? say('page.model.default', { model }) : model;
  return other === model ? name : say('page.model.replaced', { name, other });
}

/** Shows and changes the settings of the open session. */
export class SessionHead {
  #api;
  #showError;
  #profile = byId('profile', HTMLSelectElement);
  #mode = byId('mode', HTMLSelectElement);
  #model = byId('model', HTMLSelectElement);
  #key = '';
  #newest = new NewestAnswer();
  /** What was chosen for a chat that has not begun; undefined once it has. */
  #beginning: Beginning | undefined;
  /** What can be chosen, with the profile that it is for. */
  #known: { profile: string; choices: Choices } | undefined;
  /** A turn runs: the mode cannot change. */
  #running = false;

  constructor(api: Api, showError: (error: unknown) => void) {
    this.#api = api;
    this.#showError = showError;
    for (const [mode, label] of MODES) {
      const option = new Option(label.split(':', 1)[0], mode);
      option.title = label;
      this.#mode.add(option);
    }
    this.#mode.addEventListener('change', () => void this.#change({ mode: this.#mode.value }));
    this.#profile.addEventListener('change', () => void this.#change({ profileId: this.#profile.value }));
    this.#model.addEventListener('change', () => void this.#change({ model: this.#model.value || null }));
  }

  /**
   * Switches to another chat, whose session is not loaded yet.
   * @param fresh it has not begun
   */
  open(key: string, fresh: boolean) {
    this.#key = key;
    this.#beginning = fresh ? {} : undefined;
    for (const picker of [this.#profile, this.#mode, this.#model])
      picker.labels[0]?.toggleAttribute('hidden', true);
    if (fresh) void this.refresh();
  }

  /** What was chosen for the first message of the chat; undefined when nothing was, or it has begun. */
  get beginning() {
    return this.#beginning !== undefined && Object.keys(this.#beginning).length > 0
      ? this.#beginning
      : undefined;
  }

  /** The chat has begun: from now on its own settings are shown. */
  begun() {
    this.#beginning = undefined;
  }

  /** Loads what can be chosen, and the session; for one that does not exist yet, what was chosen for it. */
  async refresh() {
    const key = this.#key;
    const mayShow = this.#newest.begin();
    try {
      const session = this.#beginning === undefined ? await this.#sessionOf(key) : undefined;
      const { profileId = 'default', model: chosenModel = null } = session ?? this.#beginning ?? {};
      const [choices, sessionModel] = await Promise.all([
        this.#choicesFor(profileId),
        session === undefined ? undefined : this.#modelOf(key),
      ]);
      if (key !== this.#key || !mayShow()) return;
      this.#showProfiles(choices, profileId);
      this.#showMode(choices, profileId, session?.mode ?? this.#beginning?.mode ?? choices.mode);
      this.#showModels(choices, chosenModel, sessionModel);
    } catch (error) {
      this.#showError(error);
    }
  }

  /** Asks again who answers, if no model server did. */
  refreshModel() {
    if (this.#known?.choices.model === null) void this.refresh();
  }

  /** Disables the mode picker while a turn runs, when the mode cannot change. */
  setRunning(running: boolean) {
    this.#running = running;
    this.#mode.disabled = running;
  }

  async #sessionOf(key: string) {
    try {
      return await this.#api.session(key);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      if (key === this.#key) this.#beginning = {};
      return undefined;
    }
  }

  /** Who answers in a chat; undefined while no model server does. */
  async #modelOf(key: string): Promise<SessionModel | undefined> {
    try {
      return await this.#api.conversations.model(key);
    } catch (error) {
      if (error instanceof ApiError && error.status >= 500) return undefined;
      throw error;
    }
  }

  /**
   * What can be chosen in a chat with this profile; read again for another one, and after no model server answered.
   */
  async #choicesFor(profile: string) {
    if (this.#known?.profile !== profile || this.#known.choices.model === null)
      this.#known = {
        profile,
        choices: await this.#api.conversations.choices(profile),
      };
    return this.#known.choices;
  }

  #showProfiles({ profiles }: Choices, profile: string) {
    const options = profiles.map(({ id, description }) => {
      const option = new Option(id, id);
      option.title = description ?? '';
      return option;
    });
    if (!profiles.some(({ id }) => id === profile)) options.push(new Option(profile, profile));
    this.#profile.replaceChildren(...options);
    this.#profile.value = profile;
    this.#profile.labels[0]?.toggleAttribute('hidden', options.length < 2);
  }

  /** The mode only says how plans are run: a profile without plans has none. */
  #showMode({ profiles }: Choices, profile: string, mode: string) {
    this.#mode.value = mode;
    this.#mode.disabled = this.#running;
    this.#mode.title = MODES.find(([name]) => name === mode)?.[1] ?? '';
    const picker = this.#mode.labels[0];
    picker?.classList.toggle('agentic', mode === 'agentic');
    picker?.toggleAttribute('hidden', profiles.find(({ id }) => id === profile)?.plans === false);
  }

  #showModels(
    { model, models, problem }: Choices,
    chosenModel: string | null,
    sessionModel: SessionModel | undefined,
  ) {
    const usual = sessionModel !== undefined && chosenModel === null ? sessionModel : model;
    const answers = (name: string) => (sessionModel?.configured === name ? sessionModel.answering : name);
    const none = say('page.model.none');
    const first =
      usual === null
        ? none
        : modelLabel(usual.configured, {
            isDefault: true,
            answering: usual.answering,
          });
    const names = new Set([
      ...models.filter((name) => name !== usual?.configured),
      ...(chosenModel === null ? [] : [chosenModel]),
    ]);
    this.#model.replaceChildren(
      new Option(first, ''),
      ...[...names].map(
        (name) => new Option(modelLabel(name, { isDefault: false, answering: answers(name) }), name),
      ),
    );
    this.#model.value = chosenModel ?? '';
    this.#model.title = problem ?? '';
    this.#model.labels[0]?.toggleAttribute('hidden', false);
  }

  /** Changes the session, or what the chat begins with; null = the model of the profile. */
  async #change({ model, ...change }: { profileId?: string; mode?: string; model?: string | null }) {
    try {
      if (this.#beginning !== undefined) {
        const { model: before, ...rest } = { ...this.#beginning, ...change };
        const nextModel = model === undefined ? before : model;
        this.#beginning = { ...rest, ...(nextModel && { model: nextModel }) };
      } else
        await this.#api.changeSession(this.#key, {
          ...change,
          ...(model !== undefined && { model }),
        });
    } catch (error) {
      this.#showError(error);
    }
    await this.refresh();
  }
}
