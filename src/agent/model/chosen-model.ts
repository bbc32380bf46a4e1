/** The model that answers if nothing names one: chosen once among those of the server, and kept while it is there. */
import { GatewayError, ProviderError } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';
import type { Log } from '../../contracts/log.ts';
import type { ChatProvider } from '../../contracts/model/provider.ts';
import type { ChoiceStore } from '../../contracts/store/records.ts';

/** Name of the choice in the store. */
const CHOICE = 'model';
/** Models that are checked, in the server's order, for one that answers chats. */
export const MAX_LOOKED_AT = 20;

export interface ChosenModelDeps {
  provider: Pick<ChatProvider, 'capabilities'>;
  choices: ChoiceStore;
  /** The models of the default server, from a cache. Throws `ProviderError`. */
  names(signal: AbortSignal): Promise<readonly string[]>;
  log: Log;
}

/**
 * Makes the function that returns the model. It throws `ProviderError`, and `StoreError` before the first choice is
 * known.
 */
export function createChosenModel(deps: ChosenModelDeps): (signal: AbortSignal) => Promise<string> {
  let known: string | undefined;
  return async (signal) => {
    const names = await deps.names(signal);
    if (known !== undefined && names.includes(known)) return known;
    const stored = await deps.choices.chosen(CHOICE);
    if (stored !== undefined && names.includes(stored)) return (known = stored);
    const model = await firstForChats(deps, names, signal);
    known = await deps.choices.choose(CHOICE, model, stored);
    if (!names.includes(known)) known = model;
    deps.log.info({ model: known, ...(stored !== undefined && { insteadOf: stored }) }, 'model_chosen');
    return known;
  };
}

/** The first that answers chats; one that the server says nothing about may. */
async function firstForChats(
  { provider }: ChosenModelDeps,
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
