/** Checks of the model servers, and of the default model. */
import { toGatewayError } from '../../protocol/errors.ts';
import type { Finding } from '../../protocol/channel.ts';
import { failure, ok, warning } from './findings.ts';
import {
  LARGER_WINDOW,
  type ModelOmissions,
  omissionSentence,
  smallWindowText,
} from '../../protocol/agent/omissions.ts';
import type { KnowledgeSearch } from '../../protocol/knowledge.ts';
import type { KnowledgeReport } from '../../protocol/operator/nodes.ts';
import { inEnglish } from '../../protocol/texts/say.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import type { ChatProvider } from '../../protocol/agent/provider.ts';

/**
 * Checks the default model: `configured` is `MODEL`, `previous` the model chosen before; without either, the server's
 * first one, selected by the name `usual`. Never throws.
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
    return [failure(subject, toGatewayError(error).message, remedy)];
  }
  const name = model ?? names[0];
  if (name === undefined) return [failure(subject, 'The model server has no model.', 'ollama pull qwen3:4b')];
  if (![name, `${name}:latest`].some((name) => names.includes(name))) {
    const pull = name.includes('/')
      ? 'set MODEL to one of them'
      : `ollama pull ${name}, or set MODEL to one of them`;
    const has = names.length === 0 ? 'none' : names.slice(0, 10).join(', ');
    const origin = configured === undefined ? `${name} was chosen before` : `MODEL names ${name}`;
    const text = `${origin}, which the server does not have. It has: ${has}.`;
    return [failure(subject, text, names.length === 0 ? `ollama pull ${name}` : pull)];
  }
  try {
    return windowFindings(subject, name, await provider.capabilities(name, signal));
  } catch (error) {
    return [failure(subject, toGatewayError(error).message)];
  }
}

/**
 * How documents are found: `model` is the embedding model that is set, or was found on a server. None without documents.
 * Never throws.
 */
export function knowledgeFindings(
  report: KnowledgeReport | undefined,
  { model, isSet }: KnowledgeSearch,
): Finding[] {
  if (report === undefined) return [];
  const { documents, failed: failures, passages, vectors } = report;
  const way =
    model === undefined ? inEnglish('knowledge.by_words') : inEnglish('knowledge.by_meaning', { model });
  const count = `${documents} documents, ${passages} passages.`;
  const findings = [ok('Knowledge', `${count} ${way}`)];
  if (failures > 0) {
    const text = `${failures} of ${documents} documents could not be read.`;
    findings.push(warning('Knowledge', text, `look at what is wrong with them: ${PARLEY} knowledge show ID`));
  }
  if (model !== undefined && vectors < passages) {
    const text = `${passages - vectors} of ${passages} passages have no vector yet: they are found by words alone.`;
    const remedy = isSet
      ? 'check that memory.embeddingModel is on its server'
      : 'let the gateway run for a while';
    findings.push(warning('Knowledge', text, remedy));
  }
  return findings;
}

/** What the running gateways leave out of requests to models. Never throws. */
export function omissionFindings(omissionsOfModels: readonly ModelOmissions[]): Finding[] {
  return omissionsOfModels.map((omissions) =>
    warning('Model', omissionSentence(omissions), 'update the model server, or set MODEL to another model'),
  );
}

function windowFindings(
  subject: string,
  model: string,
  { contextWindow, windowGuessed, tools, vision, chat }: Awaited<ReturnType<ChatProvider['capabilities']>>,
): Finding[] {
  const other = 'set MODEL to another one';
  if (chat === false) return [failure(subject, `${model} cannot chat.`, other)];
  const abilities = [tools ? 'tools' : 'no tools', vision ? 'pictures' : 'no pictures'].join(', ');
  const size = `${contextWindow} tokens${windowGuessed === true ? ' (guessed: the server does not say)' : ''}`;
  const findings: Finding[] = [ok(subject, `${model}: window of ${size}, ${abilities}.`)];
  const small = smallWindowText(model, contextWindow);
  if (small !== undefined) findings.push(warning(subject, small, LARGER_WINDOW));
  if (!tools) {
    const text = `${model} cannot call tools: it can only talk.`;
    findings.push(warning(subject, text, other));
  }
  return findings;
}
