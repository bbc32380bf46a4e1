/** What people do with a turn besides reading it: fork, ask again, choose an answer, edit, put back. */
import type { Api } from '../api.ts';
import { toast } from '../parts/toast.tsx';
import { say } from '../texts.ts';
import type { TurnAct } from './turn/turn.ts';

interface TurnActsHost {
  showError: (error: unknown) => void;
  refresh: () => Promise<void>;
  /** Opens the chat that was made, and sends the edited message there. */
  forked: (key: string, message?: { content: string; files: readonly string[] }) => void;
}

/** The actions in one chat. */
export class TurnActs {
  readonly #api: Api;
  readonly #key: string;
  readonly #host: TurnActsHost;
  #isBusy = false;

  constructor(api: Api, key: string, host: TurnActsHost) {
    this.#api = api;
    this.#key = key;
    this.#host = host;
  }

  /** One at a time: a second press while the first is under way does nothing. Returns whether it was done; never rejects. */
  async act(act: Exclude<TurnAct, { do: 'trace' }>): Promise<boolean> {
    if (this.#isBusy) return false;
    this.#isBusy = true;
    try {
      await this.#apply(act);
      return true;
    } catch (error) {
      this.#host.showError(error);
      return false;
    } finally {
      this.#isBusy = false;
    }
  }

  async #apply(act: Exclude<TurnAct, { do: 'trace' }>): Promise<void> {
    const { conversations } = this.#api;
    if (act.do === 'retry' || act.do === 'reword') {
      const text = act.do === 'reword' ? act.content : undefined;
      const { note } = await conversations.again(this.#key, text);
      if (note !== undefined) toast(note);
      await this.#host.refresh();
    } else if (act.do === 'choose') {
      await conversations.choose(this.#key, act.turnId);
      await this.#host.refresh();
    } else {
      const before = act.do === 'edit' ? { before: true } : {};
      const { key, leftBehind } = await conversations.fork(this.#key, { seq: act.seq, ...before });
      if (leftBehind > 0) toast(say('page.act.left_behind', { count: leftBehind }));
      this.#host.forked(key, act.do === 'edit' ? { content: act.content, files: act.files } : undefined);
    }
  }
}
