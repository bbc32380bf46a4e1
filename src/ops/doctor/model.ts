/** Checks of the model servers, and of the default model. */
import { toGatewayError } from '../../protocol/errors.ts';
import type { Finding } from '../../protocol/channel.ts';
import {
  LARGER_WINDOW,
  type ModelOmissions,
  omissionSentence,
  smallWindowText,
} from '../../protocol/agent/omissions.ts';
import type { ChatProvider } from '../../protocol/agent/provider.ts';

/**
 * Checks the default model: `configured` is `MODEL`, `chosen` the model that was chosen before; without either it is the
 * first that the server lists, which the name `usual` selects. Never throws.
 */
export async function modelFindings(
  provider: ChatProvider,
  configured: string | undefined,
  previous: string | undefined,
  usual: string,
  signal: AbortSignal,
): Promise<Finding[]> {
  const subject = 'Model';
  const model = configured ?? previous;
  let names: readonly string[];
  try {
    names = await provider.models(signal, model ?? usual);
  } catch (error) {
    const remedy = 'start the model server (ollama serve), or correct OLLAMA_HOST or OPENAI_BASE_URL';
    return [{ subject, level: 'error', text: toGatewayError(error).message, remedy }];
  }
  const name = model ?? names[0];
  if (name === undefined)
    return [
      { subject, level: 'error', text: 'The model server has no model.', remedy: 'ollama pull qwen3:4b' },
    ];
  if (![name, `${name}:latest`].some((name) => names.includes(name))) {
    const pull = name.includes('/')
      ? 'set MODEL to one of them'
      : `ollama pull ${name}, or set MODEL to one of them`;
    const has = names.length === 0 ? 'none' : names.slice(0, 10).join(', ');
    const origin = configured === undefined ? `${name} was chosen before` : `MODEL names ${name}`;
    const text = `${origin}, which the server does not have. It has: ${has}.`;
    return [{ subject, level: 'error', text, remedy: names.length === 0 ? `ollama pull ${name}` : pull }];
  }
  try {
    return windowFindings(subject, name, await provider.capabilities(name, signal));
  } catch (error) {
    return [{ subject, level: 'error', text: toGatewayError(error).message }];
  }
}

/** What the running gateways leave out of requests to models. Never throws. */
export function omissionFindings(omissionsOfModels: readonly ModelOmissions[]): Finding[] {
  return omissionsOfModels.map((omissions) => ({
    subject: 'Model',
    level: 'warning',
    text: omissionSentence(omissions),
    remedy: 'update the model server, or set MODEL to another model',
  }));
}

function windowFindings(
  subject: string,
  model: string,
  { contextWindow, windowGuessed, tools, vision, chat }: Awaited<ReturnType<ChatProvider['capabilities']>>,
): Finding[] {
  const other = 'set MODEL to another one';
  if (chat === false) return [{ subject, level: 'error', text: `${model} cannot chat.`, remedy: other }];
  const abilities = [tools ? 'tools' : 'no tools', vision ? 'pictures' : 'no pictures'].join(', ');
  const size = `${contextWindow} tokens${windowGuessed === true ? ' (guessed: the server does not say)' : ''}`;
  const findings: Finding[] = [{ subject, level: 'ok', text: `${model}: window of ${size}, ${abilities}.` }];
  const small = smallWindowText(model, contextWindow);
  if (small !== undefined) findings.push({ subject, level: 'warning', text: small, remedy: LARGER_WINDOW });
  if (!tools) {
    const text = `${model} cannot call tools: it can only talk.`;
    findings.push({ subject, level: 'warning', text, remedy: other });
  }
  return findings;
}
