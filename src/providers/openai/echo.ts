/**
 * What an OpenAI-compatible server wants back of its own answers, gathered from an answer and put into the next
 * request.
 *
 * - DeepSeek and Kimi want `reasoning_content` with every answer that called tools, in all later requests; DeepSeek V4
 *   with every answer, where an empty one is accepted (api-docs.deepseek.com/guides/thinking_mode, openclaw#73417).
 * - OpenRouter wants the `reasoning_details`, in their order and unchanged
 *   (openrouter.ai/docs/guides/best-practices/reasoning-tokens).
 * - Gemini wants the `extra_content` of calls and messages (ai.google.dev/gemini-api/docs/thought-signatures).
 */
import { ProviderError } from '../../protocol/errors.ts';
import type {
  ChatMessage,
  ChatRequest,
  Echo,
  OpaqueFields,
  ToolCall,
} from '../../protocol/agent/provider.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { isJsonObject, isTooDeep } from '../../lib/json/json.ts';
import { type Fields, fieldsOf, listOf, textOf, wordOf } from '../answers/read-fields.ts';
import type { AssistantMessage } from '../exchanges.ts';
import type { ModelHabits } from '../discovery.ts';
import type { Omission } from '../../protocol/agent/omissions.ts';

/** How many bytes of JSON an answer's opaque fields may have, those of its calls not counted. */
export const MAX_ECHO_BYTES = 256 * 1024;

/** The field that DeepSeek refuses to do without, even empty. */
const REASONING_CONTENT = 'reasoning_content';
/** Fields in which thoughts come as text. */
const THOUGHT_FIELDS = [REASONING_CONTENT, 'reasoning'] as const;
const DETAILS = 'reasoning_details';
const EXTRA = 'extra_content';

/** Who is asked, and what is known of that model. */
export interface EchoTarget {
  /** `<provider>/<model>`. */
  from: string;
  habits: ModelHabits;
}

/** Gathers the fields of one answer. */
export function createEchoPieces({ from, habits }: EchoTarget) {
  const details: Fields[] = [];
  let extra: OpaqueFields | undefined;
  let thoughtField: string | undefined;
  let bytes = 0;
  return {
    /** Throws `ProviderError` when the fields grow too long. */
    add(delta: Fields): void {
      thoughtField ??= THOUGHT_FIELDS.find((field) => textOf(delta[field], 'thinking') !== '');
      const more = delta[DETAILS];
      const extraFields = extraOf(delta);
      if (extraFields === undefined && (more === undefined || more === null)) return;
      bytes += Buffer.byteLength(JSON.stringify([extraFields, more]));
      if (bytes > MAX_ECHO_BYTES)
        throw new ProviderError('bad_response', textRef('provider.echo_too_long', { most: MAX_ECHO_BYTES }));
      for (const item of listOf(more)) addDetail(details, item);
      if (extraFields !== undefined) extra = { ...extra, ...extraFields };
    },
    /** Undefined if nothing has to go back. `hasExtra`: a call has fields of its own. */
    end(hasExtra: boolean): Echo | undefined {
      if (thoughtField !== undefined) habits.thoughtField = thoughtField;
      const fields = {
        ...(details.length > 0 && { [DETAILS]: details }),
        ...(extra !== undefined && { [EXTRA]: extra }),
      };
      const hasFields = Object.keys(fields).length > 0;
      if (!hasFields && !hasExtra && thoughtField === undefined) return undefined;
      return {
        from,
        thoughtField: habits.dropsThoughts ? undefined : thoughtField,
        fields: hasFields ? fields : undefined,
      };
    },
  };
}

/** The parts of a text arrive one after another; encrypted blocks arrive whole. */
function addDetail(details: Fields[], item: unknown): void {
  const piece = fieldsOf(item);
  if (piece === undefined || isTooDeep(piece)) return;
  const last = details.at(-1);
  const key = last === undefined ? undefined : textKeyOf(piece);
  if (last === undefined || key === undefined || !continues(last, piece)) {
    details.push(piece);
    return;
  }
  const filled = Object.entries(piece).filter(([, value]) => value !== undefined && value !== null);
  details[details.length - 1] = {
    ...last,
    ...Object.fromEntries(filled),
    [key]: wordOf(last[key]) + wordOf(piece[key]),
  };
}

function textKeyOf({ type }: Fields): 'text' | 'summary' | undefined {
  if (type === 'reasoning.text') return 'text';
  return type === 'reasoning.summary' ? 'summary' : undefined;
}

function continues(last: Fields, piece: Fields): boolean {
  if (
    last['type'] !== piece['type'] ||
    (last['index'] ?? piece['index']) !== (piece['index'] ?? last['index'])
  )
    return false;
  // A signature ends a text: what follows it is the next one.
  return wordOf(last['signature']) === '' || wordOf(piece['text']) === '';
}

/** The opaque fields of a call or a message, as far as they can be stored. */
export function extraOf(fields: Fields): OpaqueFields | undefined {
  const extra = fields[EXTRA];
  return isJsonObject(extra) && Object.keys(extra).length > 0 && !isTooDeep(extra) ? extra : undefined;
}

/** What the messages of one request take along. */
export interface EchoWriter {
  ofMessage(message: AssistantMessage): OpaqueFields;
  ofCall(message: AssistantMessage, call: ToolCall): OpaqueFields;
}

/** Nothing of earlier answers goes back. */
const SILENT: EchoWriter = { ofMessage: () => ({}), ofCall: () => ({}) };

/**
 * Chooses what goes back: what the asked model, or a caller for it, has sent. Where a server insists, an empty thought
 * or an unchecked signature stands in for what others wrote.
 */
export function createEchoWriter(
  { messages, echo: sendsEchoes = true }: ChatRequest,
  { from, habits }: EchoTarget,
  omitted: ReadonlySet<Omission>,
): EchoWriter {
  if (!sendsEchoes) return SILENT;
  const isOwn = ({ echo }: AssistantMessage): boolean =>
    echo !== undefined && (echo.from === undefined || echo.from === from);
  const wantsSignatures =
    omitted.has('missing_signatures') ||
    messages.some(
      (message) =>
        message.role === 'assistant' &&
        isOwn(message) &&
        message.toolCalls?.some(({ extra }) => isSigned(extra)),
    );
  const wantsAll =
    omitted.has('missing_thoughts') ||
    (!habits.dropsThoughts &&
      (habits.thoughtField === REASONING_CONTENT || messages.some((one) => insists(one, from))));
  return {
    ofMessage(message) {
      const { echo, thinking = '', toolCalls = [] } = message;
      const fields = isOwn(message) ? echo?.fields : undefined;
      const thoughtField = thoughtFieldOf(message, isOwn(message), habits);
      const sendsThought = thinking !== '' && toolCalls.length > 0 && thoughtField !== undefined;
      return {
        ...(wantsAll && { [REASONING_CONTENT]: '' }),
        ...(sendsThought && { [thoughtField]: thinking }),
        ...fields,
      };
    },
    ofCall(message, call) {
      if (call.extra !== undefined && isOwn(message)) return { [EXTRA]: call.extra };
      // Only the first of several calls has a signature.
      return wantsSignatures && message.toolCalls?.[0] === call ? UNSIGNED : {};
    },
  };
}

/** What Gemini takes for calls that it did not make (ai.google.dev/gemini-api/docs/thought-signatures, FAQ). */
const UNSIGNED = { [EXTRA]: { google: { thought_signature: 'skip_thought_signature_validator' } } };

function isSigned(extra: OpaqueFields | undefined): boolean {
  return fieldsOf(extra?.['google'])?.['thought_signature'] !== undefined;
}

/** True for an answer of this model that shows that it sends `reasoning_content`. */
function insists(message: ChatMessage, from: string): boolean {
  if (message.role !== 'assistant' || message.echo === undefined) return false;
  const { echo, toolCalls = [] } = message;
  if (echo.thoughtField !== REASONING_CONTENT) return false;
  return echo.from === from || (echo.from === undefined && toolCalls.length > 0);
}

/** Under which field the thought of a message goes back; undefined if it does not. */
function thoughtFieldOf({ echo }: AssistantMessage, isOwn: boolean, habits: ModelHabits): string | undefined {
  const usual = habits.thoughtField ?? REASONING_CONTENT;
  // A caller reads thoughts as `reasoning_content`, whatever the server calls them.
  if (echo !== undefined && echo.from === undefined) return usual;
  if (isOwn && echo?.thoughtField !== undefined) return echo.thoughtField;
  // Thoughts of the current turn, for servers that do not insist on them but pass them to their models.
  return habits.dropsThoughts && (isOwn || echo === undefined) ? usual : undefined;
}
