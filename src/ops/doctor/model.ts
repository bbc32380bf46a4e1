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

/** What is checked. */
export interface CheckedModels {
  provider: Pick<ChatProvider, 'models' | 'capabilities'>;
  /** `MODEL`, or the previously chosen one; undefined = the first that the server lists. */
  model: string | undefined;
  /** A name that selects the server whose first model is the default without `MODEL`. */
  usual: string;
  /** Whether `model` comes from the variable MODEL. */
  named: boolean;
}

/** Never throws. */
export async function modelFindings(
  { provider, model, usual, named }: CheckedModels,
  signal: AbortSignal,
): Promise<Finding[]> {
  const subject = 'Model';
  let names: readonly string[];
  try {
    names = await provider.models(signal, model ?? usual);
  } catch (error) {
    const remedy = 'start the model server (ollama serve), or correct OLLAMA_HOST or OPENAI_BASE_URL';
    return [{ subject, level: 'error', text: toGatewayError(error).message, remedy }];
  }
  const used = model ?? names[0];
  if (used === undefined)
    return [
      { subject, level: 'error', text: 'The model server has no model.', remedy: 'ollama pull qwen3:4b' },
    ];
  if (![used, `${used}:latest`].some((name) => names.includes(name))) {
    const pull = used.includes('/')
      ? 'set MODEL to one of them'
      : `ollama pull ${used}, or set MODEL to one of them`;
    const has = names.length === 0 ? 'none' : names.slice(0, 10).join(', ');
    const said = named ? `MODEL names ${used}` : `${used} was chosen before`;
    const text = `${said}, which the server does not have. It has: ${has}.`;
    return [{ subject, level: 'error', text, remedy: names.length === 0 ? `ollama pull ${used}` : pull }];
  }
  try {
    return windowFindings(subject, used, await provider.capabilities(used, signal));
  } catch (error) {
    return [{ subject, level: 'error', text: toGatewayError(error).message }];
  }
}

/** What the running gateways leave out of requests to models. Never throws. */
export function omissionFindings(found: readonly ModelOmissions[]): Finding[] {
  return found.map((omissions) => ({
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
