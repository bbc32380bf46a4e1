/** What waits for a decision in all chats that this token sees, always as the gateway lists it. */
import { signal } from '@preact/signals';
import { api, type Approval } from '../api.ts';
import { showError } from '../failures/show-error.ts';
import { NewestAnswer, soon } from '../newest.ts';

/** Events of many chats at once are one request. */
const RELOAD_AFTER_MS = 250;

/** The questions that wait: the open chat, the inbox and the panels of plans show them. */
export class Approvals {
  /** Undefined before the first answer. */
  readonly all = signal<readonly Approval[] | undefined>(undefined);
  /** The token may decide them. */
  readonly mayDecide = signal(false);
  readonly #newest = new NewestAnswer();
  /** Loads the questions again soon. */
  readonly refreshSoon = soon(() => void this.refresh(), RELOAD_AFTER_MS);

  /** How many there are. */
  get count(): number {
    return this.all.value?.length ?? 0;
  }

  /** Those of one chat. */
  of(key: string): readonly Approval[] {
    return this.all.value?.filter(({ session }) => session === key) ?? [];
  }

  /** An event of any chat has come; those of the open one are shown at once. */
  apply(type: string, isOpenChat: boolean): void {
    const isAbout = type === 'approval_needed' || type === 'approval_decided';
    const mayEnd = this.count > 0 && ['turn_started', 'turn_ended', 'session_deleted'].includes(type);
    if (isOpenChat && (isAbout || type === 'turn_ended')) void this.refresh();
    else if (isAbout || mayEnd) this.refreshSoon();
  }

  /** Never rejects. */
  async refresh(): Promise<void> {
    const mayShow = this.#newest.begin();
    try {
      const { approvals, mayDecide } = await api.approvals();
      if (!mayShow()) return;
      this.mayDecide.value = mayDecide;
      this.all.value = approvals;
    } catch (error) {
      showError(error);
    }
  }

  /** One was decided; `note` says what else came of it. */
  readonly finish = async (note?: unknown): Promise<void> => {
    if (note !== undefined) showError(note);
    await this.refresh();
  };
}
