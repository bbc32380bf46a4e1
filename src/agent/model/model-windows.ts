/** The windows of models that are asked for one (`num_ctx`): as small as possible, and grown once a prompt needs more. */
import { SAFE_WINDOW } from '../prompt/context-window.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { ModelCapabilities } from '../../protocol/agent/provider.ts';

/** Models whose grown window is remembered; one more forgets the one that grew first. */
export const MAX_GROWN_MODELS = 100;

/** Models that run elsewhere, by the names that Ollama gives them: a large window takes none of this machine's memory. */
const CLOUD = /[:-]cloud$/;

type Reported = Pick<ModelCapabilities, 'contextWindow' | 'windowGuessed'>;

/**
 * What every model has of its window when no profile asks for a size: 16,384 tokens, more once a prompt needed more. A
 * window never shrinks again, so that the server does not load the model to and fro.
 */
export class ModelWindows {
  readonly #grown = new Map<string, number>();

  /** The window of a profile that names none, in tokens. */
  of(model: string, can: Reported): number {
    if (CLOUD.test(model) && can.windowGuessed !== true) return can.contextWindow;
    return this.#grown.get(model) ?? SAFE_WINDOW;
  }

  /**
   * Doubles the window within what the server reports. False when it is as large as it can be, or when the profile names
   * its own.
   */
  grow(model: string, can: Reported, profile: Pick<Profile, 'contextWindow'>): boolean {
    const now = this.of(model, can);
    if (profile.contextWindow !== undefined || can.windowGuessed === true) return false;
    if (can.contextWindow <= now) return false;
    this.#grown.set(model, Math.min(now * 2, can.contextWindow));
    if (this.#grown.size > MAX_GROWN_MODELS) this.#grown.delete(this.#grown.keys().next().value ?? model);
    return true;
  }
}
