/** What people should know about the models: which one answers, and those that are named and missing. */
import { GatewayError } from '../../protocol/errors.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { ChatProvider, ModelReport, NamedModel } from '../../protocol/agent/provider.ts';
import { LARGER_WINDOW, smallWindowText } from '../../protocol/agent/omissions.ts';

/** Names of models that are looked up for one report. */
const MAX_NAMED = 50;

/** Every model that a profile names, with the field that does. */
export function namedByProfiles(profiles: readonly Profile[]): NamedModel[] {
  return profiles.flatMap(({ id, model, fallbacks }) => [
    ...(model === undefined ? [] : [{ place: `profiles/${id}/config.json: model`, model }]),
    ...fallbacks.map((name, at) => ({ place: `profiles/${id}/config.json: fallbacks.${at}`, model: name })),
  ]);
}

/**
 * The report: `usual` answers if nothing names another, `named` are looked up at their servers, each once. A server
 * that does not answer is not a problem with the name. Throws only what aborting `signal` throws.
 */
export async function reportModels(
  provider: Pick<ChatProvider, 'capabilities'>,
  { usual, named }: { usual: string; named: readonly NamedModel[] },
  signal: AbortSignal,
): Promise<ModelReport> {
  const places = new Map<string, string>();
  for (const { place, model } of named) if (!places.has(model)) places.set(model, place);
  const asked = [...places].slice(0, MAX_NAMED);
  const found = await Promise.all(
    asked.map(async ([model, place]) => {
      const missing = await missingOf(provider, model, signal);
      return missing === undefined ? [] : [`${place}: ${missing}`];
    }),
  );
  return { model: usual, missing: found.flat(), smallWindow: await smallWindowOf(provider, usual, signal) };
}

async function smallWindowOf(
  provider: Pick<ChatProvider, 'capabilities'>,
  model: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { contextWindow } = await provider.capabilities(model, signal);
    const text = smallWindowText(model, contextWindow);
    return text && `${text} To change that, ${LARGER_WINDOW}.`;
  } catch (error) {
    // What is wrong with its server is reported when the server is asked.
    if (!(error instanceof GatewayError)) throw error;
    return undefined;
  }
}

/** What to do about a model that its server does not have, or that answers no chats; undefined for one that it has, or may have. */
async function missingOf(
  provider: Pick<ChatProvider, 'capabilities'>,
  model: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { chat } = await provider.capabilities(model, signal);
    return chat === false ? `the model "${model}" cannot chat: name another one.` : undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.code === 'unknown_model' ? error.message : undefined;
  }
}
